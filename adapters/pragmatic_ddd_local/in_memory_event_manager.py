"""An event manager that calls its subscribers in the publisher's thread, and keeps a list."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

import attrs

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.application.event_origin import with_origin
from pragmatic_ddd.application.events import Dispatcher, Lifecycle, SubscriberRegistry
from pragmatic_ddd.application.metrics import NoMetrics
from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import BrokerUnavailableError, EventPublishError
from pragmatic_ddd.ports import (
    Delivery,
    IEventMetrics,
    IEventSerializer,
    OutboxMessage,
    PublishPath,
    Receipt,
    Subscriber,
)
from pragmatic_ddd_local.confirmation import TOPIC, confirm, receipt_for

EventT = TypeVar("EventT", bound=DomainEvent)


@attrs.define
class InMemoryEventManager:
    """Brings events to the subscribers of this process at once; for tests and first steps.

    Every subscriber of an event is called before ``publish`` returns, successors and delayed
    ones too; if one fails, publishing fails. Behind an outbox the event then comes again, to
    those that succeeded, too.

    Attributes:
        serializer: Reads stored messages.
        metrics: What is counted.
        longest_call: What the outbox may take as the bound of one call. Handlers set the real
            one: this event manager cannot interrupt them.
        published: The events whose publishing succeeded, in that order.
    """

    serializer: IEventSerializer = attrs.field(validator=implements(IEventSerializer))
    metrics: IEventMetrics = attrs.field(
        factory=NoMetrics, validator=implements(IEventMetrics), kw_only=True
    )
    longest_call: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=10), validator=of_type(dt.timedelta), kw_only=True
    )
    published: list[DomainEvent] = attrs.field(factory=list, init=False)
    _registry: SubscriberRegistry = attrs.field(factory=SubscriberRegistry, init=False)
    _lifecycle: Lifecycle = attrs.field(init=False)
    _dispatcher: Dispatcher = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._lifecycle = Lifecycle(type(self).__name__)
        self._dispatcher = Dispatcher(self._registry, self.metrics)

    @property
    def side_by_side(self) -> int:
        return 1

    def publish(
        self, event: DomainEvent, *, subscriber: str | None = None, only_this: bool = False
    ) -> Receipt:
        try:
            receipt = self._publish(event, subscriber=subscriber, only_this=only_this, final=True)
        except EventPublishError:
            self.metrics.publish_failed(event.event_type, PublishPath.DIRECT, counted=False)
            raise
        self.metrics.published(event.event_type, PublishPath.DIRECT)
        return receipt

    def publish_all(self, events: Sequence[DomainEvent]) -> list[Receipt]:
        return [self.publish(event) for event in events]

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        self._check_running(message.message_id)
        event = with_origin(
            self.serializer.deserialize(
                message.payload, event_type=message.event_type, event_version=message.event_version
            ),
            message,
        )
        return self._publish(event, subscriber=None, only_this=False, final=False)

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
        self._registry.register_subscriber(
            code,
            event_type,
            handler,
            condition=condition,
            depends_on=depends_on,
            delivery=delivery,
        )

    def subscribers(self) -> Mapping[str, Sequence[Subscriber]]:
        return self._registry.subscribers()

    def dependencies(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        return self._registry.dependencies()

    def start(self) -> None:
        self._registry.close()
        self._lifecycle.start()

    def shutdown(self) -> None:
        self._lifecycle.shut_down()

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

    def _publish(
        self, event: DomainEvent, *, subscriber: str | None, only_this: bool, final: bool
    ) -> Receipt:
        self._check_running(event.event_id)
        outcomes = self._dispatcher.dispatch(
            event, subscriber=subscriber, only_this=only_this, final=final
        )
        confirm(event.event_id, outcomes)
        self.published.append(event)
        return receipt_for(outcomes)

    def _check_running(self, event_id: str) -> None:
        obstacle = self._lifecycle.obstacle()
        if obstacle is not None:
            raise BrokerUnavailableError(event_id, TOPIC, obstacle)
