"""Calls of subscribers on a pool: each is repeated if it fails, then given up.

    go_on ──▶ call ──succeeded──▶ go_on, to what depends on it
               ▲ └────failed────▶ pause ──┐
               └──────────────────────────┘

What has failed for the last time is told, and what depends on it is not called.
"""

import logging

import attrs

from pragmatic_ddd.application.events import (
    Course,
    Dispatcher,
    Outcome,
    SubscriberOutcome,
    SubscriberRegistry,
)
from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.ports import Delivery, Subscriber
from pragmatic_ddd_local.config import LocalEventManagerConfig
from pragmatic_ddd_local.delay_scheduler import DelayScheduler
from pragmatic_ddd_local.worker_pool import Job, WorkerPool

_logger = logging.getLogger(__name__)


@attrs.frozen(kw_only=True, eq=False)
class PooledCalls:
    """Brings events to those subscribers whose time has come.

    Attributes:
        dispatcher: Calls.
        registry: Knows who is not called after one that was given up.
        pool: Where calls are made.
        scheduler: Where delayed and repeated calls wait.
        config: Retries and delays.
    """

    dispatcher: Dispatcher
    registry: SubscriberRegistry
    pool: WorkerPool
    scheduler: DelayScheduler
    config: LocalEventManagerConfig

    def go_on(self, course: Course, event: DomainEvent) -> int:
        """Have everybody called whose time has come; return how many."""
        ready = course.ready()
        for subscriber in ready:
            if subscriber.delivery is Delivery.DELAYED:
                self.postpone(course, subscriber, event)
            else:
                self.pool.submit(self._job(course, subscriber, event, repeats=0))
        return len(ready)

    def postpone(self, course: Course, subscriber: Subscriber, event: DomainEvent) -> None:
        """Have a delayed subscriber called when its time has come."""
        self.scheduler.postpone(self._job(course, subscriber, event, repeats=0), self.config.delay)

    def _job(
        self, course: Course, subscriber: Subscriber, event: DomainEvent, *, repeats: int
    ) -> Job:
        return Job(
            f"{subscriber.code} of {event.event_type} {event.event_id}",
            lambda: self._call(course, subscriber, event, repeats),
        )

    def _call(
        self, course: Course, subscriber: Subscriber, event: DomainEvent, repeats: int
    ) -> None:
        is_last = repeats >= self.config.retries
        outcome = self.dispatcher.call(subscriber, event, final=is_last)
        if outcome.outcome is Outcome.FAILED and not is_last:
            self._call_again(course, outcome, event, repeats + 1)
            return
        course.record(outcome)
        if outcome.outcome is Outcome.FAILED:
            self._report(outcome, event)
        self.go_on(course, event)

    def _call_again(
        self, course: Course, failed: SubscriberOutcome, event: DomainEvent, repeats: int
    ) -> None:
        _logger.warning(
            "event %s (%s): subscriber %s failed and is called again in %s: %s",
            event.event_id,
            event.event_type,
            failed.subscriber.code,
            self.config.retry_delay,
            failed.error,
        )
        again = self._job(course, failed.subscriber, event, repeats=repeats)
        self.scheduler.postpone(again, self.config.retry_delay)

    def _report(self, failed: SubscriberOutcome, event: DomainEvent) -> None:
        code = failed.subscriber.code
        held_back = self.registry.followers(event.event_type, code)
        _logger.error(
            "event %s (%s): subscriber %s failed %d times and is given up; not called after it: %s",
            event.event_id,
            event.event_type,
            code,
            self.config.retries + 1,
            ", ".join(sorted(held_back)) or "nobody",
            exc_info=failed.error,
        )
