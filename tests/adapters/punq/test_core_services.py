import datetime as dt
import threading

import attrs
import punq
import pytest

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
from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd.ports import (
    IClock,
    IConfigurationSource,
    IEventManager,
    IEventMetrics,
    IEventSerializer,
    IOutboxStore,
)
from pragmatic_ddd.testing.clock import SettableClock
from pragmatic_ddd_local import CountingMetrics, InMemoryEventManager, InMemoryOutboxStore
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_punq import register_core_services
from tests.unit.application.outbox.builders import DEADLINE, push

CORE_SERVICES = [
    IClock,
    IEventMetrics,
    OutboxRelayConfig,
    EagerPoolConfig,
    BrokerHealth,
    EventEncoding,
    OutboxRelay,
    EagerOutboxPublisher,
]


class OrderPaid(DomainEvent, name="shop.order.paid"):
    pass


@attrs.define
class Housekeeping:
    relay: OutboxRelay
    clock: IClock
    metrics: IEventMetrics


def register_ports(container: punq.Container) -> None:
    event_types = EventTypeRegistry(OrderPaid)
    serializer = OrjsonEventSerializer(event_types)
    container.register(IOutboxStore, instance=InMemoryOutboxStore())
    container.register(IEventSerializer, instance=serializer)
    container.register(IEventManager, instance=InMemoryEventManager(serializer))


def a_store() -> InMemoryOutboxStore:
    return InMemoryOutboxStore()


@pytest.fixture
def container() -> punq.Container:
    container = punq.Container()
    register_ports(container)
    register_core_services(container)
    return container


@pytest.mark.parametrize("service", CORE_SERVICES)
def test_every_service_is_made_once(container: punq.Container, service: type) -> None:
    assert container.resolve(service) is container.resolve(service)


@pytest.mark.parametrize("service", CORE_SERVICES)
def test_nothing_is_made_before_it_is_asked_for(service: type) -> None:
    container = punq.Container()

    register_core_services(container)
    register_ports(container)

    assert container.resolve(service) is not None


def test_relay_and_eager_publisher_share_what_they_need(container: punq.Container) -> None:
    relay: OutboxRelay = container.resolve(OutboxRelay)
    eager: EagerOutboxPublisher = container.resolve(EagerOutboxPublisher)

    assert relay.health is eager.health is container.resolve(BrokerHealth)
    assert relay.store is eager.store is container.resolve(IOutboxStore)
    assert relay.publisher is eager.publisher is container.resolve(IEventManager)
    assert relay.config is eager.config is container.resolve(OutboxRelayConfig)
    assert eager.wake_relay == relay.wake


def test_the_parts_work_together(container: punq.Container) -> None:
    events: IEventManager = container.resolve(IEventManager)
    store: IOutboxStore = container.resolve(IOutboxStore)
    eager: EagerOutboxPublisher = container.resolve(EagerOutboxPublisher)
    encoding: EventEncoding = container.resolve(EventEncoding)
    events.start()

    message = encoding.encode(OrderPaid(aggregate_id="o1"), aggregate_type="shop.order")
    push(eager, message)

    assert eager.wait_until_idle(DEADLINE)
    assert store.backlog().pending == 0
    eager.shutdown()
    events.shutdown()


def test_without_settings_the_defaults_are_used(container: punq.Container) -> None:
    assert container.resolve(OutboxRelayConfig) == OutboxRelayConfig()
    assert container.resolve(EagerPoolConfig) == EagerPoolConfig()


@pytest.mark.parametrize("before", [True, False])
def test_configurations_are_read_from_the_settings(*, before: bool) -> None:
    container = punq.Container()
    settings = MappingConfigurationSource(
        {"outbox.poll-interval": "1s", "outbox.eager.workers": "2"}
    )
    if before:
        container.register(IConfigurationSource, instance=settings)
    register_core_services(container)
    if not before:
        container.register(IConfigurationSource, instance=settings)

    assert container.resolve(OutboxRelayConfig).poll_interval == dt.timedelta(seconds=1)
    assert container.resolve(EagerPoolConfig).workers == 2


def test_a_wrong_setting_is_named_when_the_relay_is_asked_for(container: punq.Container) -> None:
    settings = MappingConfigurationSource({"outbox.poll-interval": "soon"})
    container.register(IConfigurationSource, instance=settings)

    with pytest.raises(ConfigurationError, match=r"outbox\.poll-interval = 'soon'"):
        container.resolve(OutboxRelay)


def test_the_application_gets_a_clock_and_metrics_that_count_nothing(
    container: punq.Container,
) -> None:
    assert isinstance(container.resolve(IClock), SystemClock)
    assert isinstance(container.resolve(IEventMetrics), NoMetrics)


@pytest.mark.parametrize("before", [True, False])
def test_what_the_application_has_registered_itself_is_used(*, before: bool) -> None:
    container = punq.Container()
    clock, metrics, config = SettableClock(), CountingMetrics(), OutboxRelayConfig(batch_size=7)

    def register_own() -> None:
        container.register(IClock, instance=clock)
        container.register(IEventMetrics, instance=metrics)
        container.register(OutboxRelayConfig, instance=config)

    register_ports(container)
    if before:
        register_own()
    register_core_services(container)
    if not before:
        register_own()

    assert container.resolve(IClock) is clock
    relay: OutboxRelay = container.resolve(OutboxRelay)
    assert relay.metrics is metrics
    assert relay.config is config


def test_headers_are_called_for_each_event() -> None:
    container = punq.Container()
    register_ports(container)
    register_core_services(container, headers=lambda: {"tenant": "acme"})

    encoding: EventEncoding = container.resolve(EventEncoding)
    message = encoding.encode(OrderPaid(aggregate_id="o1"), aggregate_type="shop.order")

    assert message.headers == {"tenant": "acme"}


@pytest.mark.parametrize("service", [OutboxRelay, EagerOutboxPublisher, EventEncoding])
def test_all_missing_ports_are_named_at_once(service: type) -> None:
    container = punq.Container()
    register_core_services(container)

    with pytest.raises(ConfigurationError) as caught:
        container.resolve(service)

    assert caught.value.problems == (
        "IOutboxStore is not registered: container.register(IOutboxStore, instance=...)",
        "IEventManager is not registered: container.register(IEventManager, instance=...)",
        "IEventSerializer is not registered: container.register(IEventSerializer, instance=...)",
    )


def test_a_service_can_be_made_without_the_ports_that_it_does_not_need() -> None:
    container = punq.Container()
    container.register(IEventSerializer, instance=OrjsonEventSerializer(EventTypeRegistry()))
    register_core_services(container)

    assert container.resolve(EventEncoding) is not None
    with pytest.raises(ConfigurationError) as caught:
        container.resolve(OutboxRelay)
    assert len(caught.value.problems) == 2


def test_a_port_that_is_made_anew_for_each_who_asks_is_refused() -> None:
    container = punq.Container()
    register_ports(container)
    container.register(IOutboxStore, a_store)
    register_core_services(container)

    with pytest.raises(ConfigurationError, match="IOutboxStore is made anew for each who asks"):
        container.resolve(OutboxRelay)

    container.register(IOutboxStore, a_store, scope=punq.Scope.singleton)
    relay: OutboxRelay = container.resolve(OutboxRelay)
    assert relay.store is container.resolve(IOutboxStore)


def test_a_service_is_made_again_once_its_ports_are_there() -> None:
    container = punq.Container()
    register_core_services(container)
    with pytest.raises(ConfigurationError):
        container.resolve(OutboxRelay)

    register_ports(container)

    assert container.resolve(OutboxRelay) is container.resolve(OutboxRelay)


@pytest.mark.skipif(not hasattr(punq.Container, "child"), reason="punq 0.7 has no children")
def test_a_child_container_shares_the_services(container: punq.Container) -> None:
    assert container.child().resolve(OutboxRelay) is container.resolve(OutboxRelay)


def test_a_class_of_the_application_gets_them_by_its_type_hints(container: punq.Container) -> None:
    container.register(Housekeeping)

    housekeeping: Housekeeping = container.resolve(Housekeeping)

    assert housekeeping.relay is container.resolve(OutboxRelay)


def test_threads_that_ask_at_once_get_the_same() -> None:
    container = punq.Container()
    register_ports(container)
    register_core_services(container)
    inside, both_inside = threading.Event(), threading.Event()
    found: list[object] = []

    def slow_store() -> InMemoryOutboxStore:
        if inside.is_set():
            both_inside.set()
        inside.set()
        both_inside.wait(0.2)  # in vain, unless the other thread is let in
        return InMemoryOutboxStore()

    def ask_second() -> None:
        assert inside.wait(DEADLINE.total_seconds())
        found.append(container.resolve(EagerOutboxPublisher))

    container.register(IOutboxStore, slow_store, scope=punq.Scope.singleton)
    thread = threading.Thread(target=ask_second)
    thread.start()
    found.append(container.resolve(EagerOutboxPublisher))
    thread.join(DEADLINE.total_seconds())

    assert len(found) == 2
    assert found[0] is found[1]


def test_two_containers_have_nothing_in_common() -> None:
    one, other = punq.Container(), punq.Container()
    for container in (one, other):
        register_ports(container)
        register_core_services(container)

    assert one.resolve(OutboxRelay) is not other.resolve(OutboxRelay)
    assert one.resolve(BrokerHealth) is not other.resolve(BrokerHealth)
