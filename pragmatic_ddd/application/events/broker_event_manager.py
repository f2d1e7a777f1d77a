"""What every event manager over a broker does alike: it publishes, has subscribers, and a life.

    start ──▶ topics of the subscribers ──▶ _connect ──▶ consuming
    shutdown ──▶ _disconnect

A subclass knows one broker: how a message is sent, confirmed and received there. The rest, which
must not differ between brokers, is here once.
"""

import logging
import os
import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import ClassVar, Self, TypeVar

import attrs

from pragmatic_ddd.application.events.broker_publisher import FORKED, BrokerPublisher
from pragmatic_ddd.application.events.dispatch import Dispatcher
from pragmatic_ddd.application.events.event_consumption import Delay, EventConsumption
from pragmatic_ddd.application.events.lifecycle import Lifecycle
from pragmatic_ddd.application.events.subscribers import SubscriberRegistry
from pragmatic_ddd.application.forking import reset_in_child
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    ConfigurationError,
    InfrastructureError,
    SubscriptionError,
)
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd.ports.serialization import IEventTypeCatalogue
from pragmatic_ddd.ports.subscribers import Delivery, Subscriber

EventT = TypeVar("EventT", bound=DomainEvent)

_logger = logging.getLogger(__name__)


@attrs.define(eq=False)
class BrokerEventManager(BrokerPublisher):
    """An event manager whose events go to a broker; see ``IEventManager``.

    A subclass is an attrs class, ``@attrs.define(eq=False)``. It declares ``config``,
    ``serializer`` and ``topics`` in this order, so that they are its first arguments, gives the
    members below that are abstract, and ``config_prefix``. It calls ``_consumption`` for what is
    received, and may raise ``_unavailable`` from ``_send``. One whose client has many messages
    under way at once has ``publish_many`` as well, and asks ``_topic_of`` for each.

    Attributes:
        config_prefix: Prefix of the keys of its config, such as ``kafka``; for errors.
    """

    config_prefix: ClassVar[str]

    _registry: SubscriberRegistry = attrs.field(factory=SubscriberRegistry, init=False)
    _lifecycle: Lifecycle = attrs.field(init=False)
    _names: dict[str, str] = attrs.field(factory=dict, init=False)
    _was_shut_down: bool = attrs.field(default=False, init=False)
    # Reentrant: a signal handler may shut it down while the main thread is starting it.
    _lock: "threading.RLock" = attrs.field(factory=threading.RLock, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._lifecycle = Lifecycle(type(self).__name__)
        reset_in_child(self._renew_lock)

    @property
    @abstractmethod
    def _consumer_group(self) -> str | None:
        """The processes that share events among them, from the config; ``None`` if not set."""

    @abstractmethod
    def _connect(self, consumed_topics: Sequence[str]) -> None:
        """Connect, and begin to consume these topics, or neither; handlers may publish at once.

        Called in ``start``, under a lock. A signal handler may have ``_disconnect`` called at
        any step of it; what it makes after that is disconnected once it has returned.

        Args:
            consumed_topics: Those of all subscribers, each once, allowed by ``_checked_topic``;
                empty where there is no subscriber. If there are any, there is a group.

        Raises:
            InfrastructureError: It cannot; it holds nothing and may be called again.
            ConfigurationError: A setting is wrong; it holds nothing.
        """

    @abstractmethod
    def _disconnect(self) -> None:
        """Take no more messages, let handlers finish and publish, disconnect; within a bound.

        Called once or more, also where nothing was connected. What it raises is logged.
        """

    def register_subscriber(
        self,
        code: str,
        event_type: type[EventT],
        handler: Callable[[EventT], None],
        *,
        condition: Callable[[EventT], bool] | None = None,
        depends_on: Sequence[str] = (),
        delivery: Delivery = Delivery.IMMEDIATE,
    ) -> None:
        """Register a handler; see ``ISubscriberRegistry``."""
        self._registry.register_subscriber(
            code,
            event_type,
            handler,
            condition=condition,
            depends_on=depends_on,
            delivery=delivery,
        )
        for name in (event_type.event_type, *event_type.event_aliases):
            self._names[name] = event_type.event_type

    def subscribers(self) -> Mapping[str, Sequence[Subscriber]]:
        """Return all subscribers; see ``ISubscriberRegistry``."""
        return self._registry.subscribers()

    def dependencies(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Return who depends on whom; see ``ISubscriberRegistry``."""
        return self._registry.dependencies()

    def start(self) -> None:
        """Connect, and begin to consume where there are subscribers; see ``ILifecycle``.

        Raises:
            ConfigurationError: There are subscribers and no consumer group, or a topic of
                theirs is not set or not allowed, or another setting is wrong.
            SubscriptionError: A subscriber depends on one that does not exist, or the serializer
                says that it cannot read its event; more may still be registered.
            InfrastructureError: It cannot connect now; or it was started before this process
                was forked, or has been shut down.
        """
        with self._lock:
            if self._lifecycle.obstacle() is None:
                return
            if self._is_of_another_process():
                raise InfrastructureError(f"{type(self).__name__} cannot start: {FORKED}")
            self._refuse_unreadable()
            self._registry.close()
            if not self._was_shut_down:
                self._begin()
            if self._was_shut_down:  # before, or by a signal handler meanwhile
                self._end()
            self._lifecycle.start()

    def shutdown(self) -> None:
        """Finish what is in hand, disconnect; see ``ILifecycle``."""
        with self._lock:
            self._was_shut_down = True
            self._end()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown()

    def _unavailable(self, message: OutboxMessage, topic: str) -> BrokerUnavailableError:
        """Return the error of a send while there is no connection."""
        reason = self._lifecycle.obstacle() or "it is being started"
        return BrokerUnavailableError(message.message_id, topic, reason)

    def _consumption(self, group: str, *, delay: Delay | None = None) -> EventConsumption:
        """Return what brings received events to the subscribers; see there."""
        return EventConsumption(
            group=group,
            names=self._names,
            registry=self._registry,
            dispatcher=Dispatcher(self._registry, self.metrics),
            serializer=self.serializer,
            metrics=self.metrics,
            delay=delay,
        )

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()

    def _refuse_unreadable(self) -> None:
        """Refuse subscribers of events that the serializer says it cannot read."""
        catalogue = self.serializer
        if not isinstance(catalogue, IEventTypeCatalogue):
            return
        unreadable = [
            f"{each.code!r} of {name}"
            for name, subscribers in self._registry.subscribers().items()
            if not catalogue.knows(name)
            for each in subscribers
        ]
        if unreadable:
            raise SubscriptionError(
                f"the serializer cannot read the event of subscriber {'; '.join(unreadable)}: "
                f"register its class, in the EventTypeRegistry or what is used instead"
            )

    def _begin(self) -> None:
        topics = self._consumed_topics()
        if topics and self._consumer_group is None:
            raise ConfigurationError(
                [f"{self.config_prefix}.consumer-group: needed where there are subscribers"]
            )
        self._process_id = os.getpid()  # handlers may publish before it has started
        try:
            self._connect(topics)
        except BaseException:
            self._process_id = 0
            raise

    def _end(self) -> None:
        """Disconnect, but not in a forked child, where the connection is the parent's."""
        try:
            if not self._is_of_another_process():
                self._disconnect()
        except Exception:
            _logger.exception("%s failed to shut down", type(self).__name__)
        finally:
            self._lifecycle.shut_down()

    def _consumed_topics(self) -> list[str]:
        """Return the topics of all subscribers, each once.

        Raises:
            ConfigurationError: One is not set or not allowed.
        """
        resolved: list[str] = []
        for name, event_type in self._names.items():
            try:
                resolved += self._topics_of(name, event_type)
            except ConfigurationError:
                if name == event_type:  # a former name may have no topic any more
                    raise
        try:
            return [self._checked_topic(topic) for topic in dict.fromkeys(resolved)]
        except ValueError as error:
            raise ConfigurationError([str(error)]) from error

    def _topics_of(self, name: str, event_type: str) -> list[str]:
        codes = (None, *self._registry.of(event_type))
        return [self.topics.resolve(name, subscriber=code) for code in codes]
