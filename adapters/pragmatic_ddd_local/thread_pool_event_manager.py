"""An event manager with threads of its own: one process, no broker.

    publish         all subscribers on workers; each is called again if it fails, then given up
    publish_stored  root subscribers in the caller's thread, once: the outbox repeats; then
                    successors and delayed ones on workers, as above

What waits in a queue or for its delay is in memory only: it is lost with the process. Behind an
outbox that concerns successors and delayed subscribers, never the root ones.
"""

import datetime as dt
import logging
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

import attrs

from pragmatic_ddd.application.arguments import check_type, implements, of_type
from pragmatic_ddd.application.event_origin import with_origin
from pragmatic_ddd.application.events import Dispatcher, Lifecycle, SubscriberRegistry
from pragmatic_ddd.application.exiting import call_at_exit
from pragmatic_ddd.application.metrics import NoMetrics
from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import BrokerUnavailableError
from pragmatic_ddd.ports import (
    Delivery,
    IEventMetrics,
    IEventSerializer,
    OutboxMessage,
    PublishPath,
    Receipt,
    Subscriber,
)
from pragmatic_ddd_local.config import LocalEventManagerConfig
from pragmatic_ddd_local.confirmation import TOPIC, confirm, receipt_for
from pragmatic_ddd_local.delay_scheduler import DelayScheduler
from pragmatic_ddd_local.pooled_calls import PooledCalls
from pragmatic_ddd_local.worker_pool import WorkerPool

_logger = logging.getLogger(__name__)

_MOMENT = dt.timedelta(milliseconds=100)
EventT = TypeVar("EventT", bound=DomainEvent)


@attrs.define(eq=False)
class ThreadPoolEventManager:
    """Brings events to the subscribers of this process, on a bounded pool.

    Order is kept among the root subscribers of stored messages of one aggregate, because their
    publishers never overlap. It belongs to the process that started it: in a forked child it
    refuses to publish.

    Attributes:
        serializer: Reads stored messages.
        config: Threads, queue, retries and delays.
        metrics: What is counted.
    """

    serializer: IEventSerializer = attrs.field(validator=implements(IEventSerializer))
    config: LocalEventManagerConfig = attrs.field(
        factory=LocalEventManagerConfig, validator=of_type(LocalEventManagerConfig)
    )
    metrics: IEventMetrics = attrs.field(factory=NoMetrics, validator=implements(IEventMetrics))
    _registry: SubscriberRegistry = attrs.field(factory=SubscriberRegistry, init=False)
    _lifecycle: Lifecycle = attrs.field(init=False)
    _dispatcher: Dispatcher = attrs.field(init=False)
    _pool: WorkerPool = attrs.field(init=False)
    _scheduler: DelayScheduler = attrs.field(init=False)
    _calls: PooledCalls = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._lifecycle = Lifecycle(type(self).__name__)
        self._dispatcher = Dispatcher(self._registry, self.metrics)
        self._pool = WorkerPool("events", self.config.workers, self.config.queue_size)
        self._scheduler = DelayScheduler("events-delay", self._pool)
        self._calls = PooledCalls(
            dispatcher=self._dispatcher,
            registry=self._registry,
            pool=self._pool,
            scheduler=self._scheduler,
            config=self.config,
        )

    @property
    def longest_call(self) -> dt.timedelta:
        return self.config.longest_call

    @property
    def side_by_side(self) -> int:
        return self.config.workers

    def publish(
        self, event: DomainEvent, *, subscriber: str | None = None, only_this: bool = False
    ) -> Receipt:
        self._check_running(event.event_id)
        course = self._dispatcher.begin(event, subscriber=subscriber, only_this=only_this)
        self.metrics.published(event.event_type, PublishPath.DIRECT)
        return Receipt(f"{TOPIC}: handed to {self._calls.go_on(course, event)} subscribers")

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
        course = self._dispatcher.begin(event)
        roots = course.ready()
        outcomes = [
            self._dispatcher.call(root, event, final=False)
            for root in roots
            if root.delivery is Delivery.IMMEDIATE
        ]
        confirm(message.message_id, outcomes)
        for outcome in outcomes:
            course.record(outcome)
        for root in roots:
            if root.delivery is Delivery.DELAYED:
                self._calls.postpone(course, root, event)
        self._calls.go_on(course, event)
        return receipt_for(outcomes)

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
        if self._lifecycle.start():
            self._pool.start()
            self._scheduler.start()
            call_at_exit(self.shutdown)  # drains it, without keeping it alive until then

    def shutdown(self) -> None:
        if not self._lifecycle.shut_down():
            return
        self._scheduler.hurry()
        self._pool.wait_until_idle(self.config.shutdown_timeout)
        self._scheduler.close()
        left = self._pool.close()
        for ending in (self._scheduler, self._pool):
            ending.join(_MOMENT if left else self.config.shutdown_timeout)
        if left:
            _logger.error(
                "event manager shut down with %d calls not finished: %s",
                len(left),
                "; ".join(sorted(job.description for job in left)),
            )

    def wait_until_idle(self, timeout: dt.timedelta) -> bool:
        """Wait until every call is made, delayed and repeated ones too; tell whether it is."""
        check_type("timeout", timeout, dt.timedelta)
        return self._pool.wait_until_idle(timeout)

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

    def _check_running(self, event_id: str) -> None:
        obstacle = self._lifecycle.obstacle()
        if obstacle is not None:
            raise BrokerUnavailableError(event_id, TOPIC, obstacle)
