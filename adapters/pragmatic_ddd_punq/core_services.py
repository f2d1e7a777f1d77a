"""The core services in a punq container: the outbox path over the application's ports.

container = punq.Container()
container.register(IOutboxStore, instance=SqlAlchemyOutboxStore(engine))
container.register(IEventManager, instance=events)
container.register(IEventSerializer, instance=serializer)
register_core_services(container)

relay: OutboxRelay = container.resolve(OutboxRelay)
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import attrs
import punq

from pragmatic_ddd.application.clock import SystemClock
from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.metrics import NoMetrics
from pragmatic_ddd.application.outbox import (
    BrokerHealth,
    EagerOutboxPublisher,
    EagerPoolConfig,
    EventEncoding,
    OutboxRelay,
    OutboxRelayConfig,
)
from pragmatic_ddd.application.outbox.encoding import HeaderSource
from pragmatic_ddd.ports import (
    IClock,
    IConfigurationSource,
    IEventManager,
    IEventMetrics,
    IEventSerializer,
    IOutboxStore,
)
from pragmatic_ddd_punq.registrations import Registrations

ServiceT = TypeVar("ServiceT")

_PORTS = (IOutboxStore, IEventManager, IEventSerializer)


def register_core_services(
    container: punq.Container, *, headers: HeaderSource | None = None
) -> None:
    """Register the services of the outbox path, each made once, when it is first asked for.

    Registers ``EventEncoding``, ``OutboxRelayConfig``, ``EagerPoolConfig``, ``BrokerHealth``,
    ``OutboxRelay`` and ``EagerOutboxPublisher``, which wakes the relay and shares what it knows
    of the broker; ``SystemClock`` as ``IClock``; ``NoMetrics`` as ``IEventMetrics``. What the
    application has registered itself, before or after this call, is used instead.

    The application registers ``IOutboxStore``, ``IEventManager`` and ``IEventSerializer``, before
    or after this call, as instances or singletons; and ``IConfigurationSource``, if the
    configurations are to be read from settings.

    Nothing is started here: the application starts its event manager and its relay, and shuts
    the eager publisher down.

    Args:
        container: The application's container.
        headers: Called for each stored event: correlation ids, trace context, tenant.

    Raises:
        ConfigurationError: Not here, but when a service is first asked for: a port is missing
            or made anew for each who asks, all such ports are named; or a setting is wrong.
    """
    core = _CoreServices(container=container, headers=headers)
    factories: dict[type, Callable[[], object]] = {
        IClock: SystemClock,
        IEventMetrics: NoMetrics,
        OutboxRelayConfig: core.relay_config,
        EagerPoolConfig: core.pool_config,
        BrokerHealth: core.health,
        EventEncoding: core.encoding,
        OutboxRelay: core.relay,
        EagerOutboxPublisher: core.eager,
    }
    lock = threading.RLock()
    registrations = Registrations(container)
    for service, make in factories.items():
        if not registrations.has(service):
            once = _Once(make, lock)
            container.register(service, factory=once.get, scope=punq.Scope.singleton)


@attrs.define(eq=False)
class _Once(Generic[ServiceT]):
    """Makes something once. punq makes a singleton twice where two threads ask for it at once."""

    make: Callable[[], ServiceT]
    lock: "threading.RLock"
    _made: list[ServiceT] = attrs.field(factory=list, init=False)

    def get(self) -> ServiceT:
        with self.lock:
            if not self._made:
                self._made.append(self.make())
            return self._made[0]


@attrs.frozen
class _CoreServices:
    """Makes the services. Whatever they need they take from the container, never from here."""

    container: punq.Container
    headers: HeaderSource | None

    def relay_config(self) -> OutboxRelayConfig:
        return OutboxRelayConfig.bind(self._settings())

    def pool_config(self) -> EagerPoolConfig:
        return EagerPoolConfig.bind(self._settings())

    def health(self) -> BrokerHealth:
        return BrokerHealth()

    def encoding(self) -> EventEncoding:
        self._require(IEventSerializer)
        serializer = self.container.resolve(IEventSerializer)
        if self.headers is None:
            return EventEncoding(serializer=serializer)
        return EventEncoding(serializer=serializer, headers=self.headers)

    def relay(self) -> OutboxRelay:
        self._require(IOutboxStore, IEventManager)
        return OutboxRelay(
            store=self.container.resolve(IOutboxStore),
            publisher=self.container.resolve(IEventManager),
            config=self.container.resolve(OutboxRelayConfig),
            health=self.container.resolve(BrokerHealth),
            metrics=self.container.resolve(IEventMetrics),
        )

    def eager(self) -> EagerOutboxPublisher:
        self._require(IOutboxStore, IEventManager)
        return EagerOutboxPublisher(
            store=self.container.resolve(IOutboxStore),
            publisher=self.container.resolve(IEventManager),
            config=self.container.resolve(OutboxRelayConfig),
            pool=self.container.resolve(EagerPoolConfig),
            health=self.container.resolve(BrokerHealth),
            metrics=self.container.resolve(IEventMetrics),
            wake_relay=self.container.resolve(OutboxRelay).wake,
        )

    def _settings(self) -> IConfigurationSource:
        if Registrations(self.container).has(IConfigurationSource):
            settings: IConfigurationSource = self.container.resolve(IConfigurationSource)
            return settings
        return MappingConfigurationSource({})

    def _require(self, *needed: type) -> None:
        Registrations(self.container).require(_PORTS, needed=needed)
