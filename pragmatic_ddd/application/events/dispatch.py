"""Dispatching one event to its subscribers, in the order of their dependencies.

    course = dispatcher.begin(event)          # who is to be called, and in which order
    for subscriber in course.ready():         # roots first
        course.record(dispatcher.call(subscriber, event))   # may make successors ready

``Dispatcher.dispatch`` does all of it in the caller's thread. An event manager with threads of
its own takes the steps one by one.
"""

import enum
import inspect
import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future

import attrs

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.application.events.subscribers import SubscriberRegistry
from pragmatic_ddd.application.metrics import NoMetrics
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.ports.metrics import IEventMetrics
from pragmatic_ddd.ports.subscribers import Subscriber


class Outcome(enum.Enum):
    """What became of one subscriber for one event.

    Attributes:
        SUCCEEDED: It was called and returned.
        NOT_WANTED: Its condition said no: it has nothing to do, and holds nobody back.
        FAILED: It raised an error.
        HELD_BACK: One that it depends on failed or was held back, so it was not called.
    """

    SUCCEEDED = "succeeded"
    NOT_WANTED = "not wanted"
    FAILED = "failed"
    HELD_BACK = "held back"


@attrs.frozen
class SubscriberOutcome:
    """The outcome of one subscriber.

    Attributes:
        subscriber: Who.
        outcome: What became of it.
        error: What it raised, where it failed.
    """

    subscriber: Subscriber
    outcome: Outcome
    error: Exception | None = None


@attrs.define
class Course:
    """How far one event has come among its subscribers. Safe to use from several threads."""

    _waiting: dict[str, Subscriber]
    _pending: set[str] = attrs.field(init=False)
    _outcomes: list[SubscriberOutcome] = attrs.field(factory=list, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._pending = set(self._waiting)

    def ready(self) -> list[Subscriber]:
        """Take those whose predecessors have all succeeded, in order of registration."""
        with self._lock:
            ready = [each for each in self._waiting.values() if self._is_ready(each)]
            for each in ready:
                del self._waiting[each.code]
        return ready

    def record(self, outcome: SubscriberOutcome) -> None:
        """Note an outcome; a failure holds back everybody who depends on it."""
        with self._lock:
            self._outcomes.append(outcome)
            if outcome.outcome is Outcome.FAILED:
                self._hold_back(outcome.subscriber.code)
            else:
                self._pending.discard(outcome.subscriber.code)

    def outcomes(self) -> list[SubscriberOutcome]:
        """Return the outcomes up to now, in the order in which they came."""
        with self._lock:
            return list(self._outcomes)

    def failures(self) -> list[SubscriberOutcome]:
        """Return the outcomes of those that failed."""
        return [each for each in self.outcomes() if each.outcome is Outcome.FAILED]

    def _is_ready(self, subscriber: Subscriber) -> bool:
        return subscriber.depends_on.isdisjoint(self._pending)

    def _hold_back(self, code: str) -> None:
        for each in list(self._waiting.values()):
            if code in each.depends_on and each.code in self._waiting:
                del self._waiting[each.code]
                self._outcomes.append(SubscriberOutcome(each, Outcome.HELD_BACK))
                self._hold_back(each.code)


@attrs.define
class Dispatcher:
    """Calls subscribers. Whether and when a failed one is called again is its user's decision.

    Attributes:
        registry: Who wants what.
        metrics: Counts each call.
    """

    registry: SubscriberRegistry = attrs.field(validator=of_type(SubscriberRegistry))
    metrics: IEventMetrics = attrs.field(factory=NoMetrics, validator=implements(IEventMetrics))

    def dispatch(
        self,
        event: DomainEvent,
        *,
        subscriber: str | None = None,
        only_this: bool = False,
        final: bool = True,
    ) -> list[SubscriberOutcome]:
        """Call all subscribers of an event in this thread, each at most once.

        Args:
            event: What happened.
            subscriber: Code of the one that it is for; all of them, where ``None``.
            only_this: With ``subscriber``: do not go on to those that depend on it.
            final: Whether a failed subscriber is not called again for this event.

        Returns:
            One outcome for each subscriber; empty where there is none. Never raises for them.

        Raises:
            SubscriptionError: There is no such subscriber.
        """
        course = self.begin(event, subscriber=subscriber, only_this=only_this)
        while ready := course.ready():
            for each in ready:
                course.record(self.call(each, event, final=final))
        return course.outcomes()

    def begin(
        self, event: DomainEvent, *, subscriber: str | None = None, only_this: bool = False
    ) -> Course:
        """Return the course of an event: who is to be called, and in which order.

        Raises:
            SubscriptionError: There is no such subscriber.
        """
        found = self.registry.of(event.event_type)
        if subscriber is None:
            return Course(found)
        codes = {self.registry.one(event.event_type, subscriber).code}
        if not only_this:
            codes |= self.registry.followers(event.event_type, subscriber)
        return Course({code: each for code, each in found.items() if code in codes})

    def call(
        self,
        subscriber: Subscriber,
        event: DomainEvent,
        *,
        final: bool = True,
        is_useless: Callable[[Exception], bool] | None = None,
    ) -> SubscriberOutcome:
        """Call one subscriber once; what it raises is in the outcome.

        Args:
            subscriber: Who.
            event: What happened.
            final: Whether it is not called again for this event if it fails.
            is_useless: Says of its error whether it is not called again, though it is not final.
        """
        try:
            if subscriber.condition is not None and not subscriber.condition(event):
                return SubscriberOutcome(subscriber, Outcome.NOT_WANTED)
            handler: Callable[[DomainEvent], object] = subscriber.handler
            refuse_unfinished(handler(event))
        except Exception as error:  # noqa: BLE001  # a subscriber's outermost frame: see outcome
            is_last = final or (is_useless is not None and is_useless(error))
            self.metrics.consume_failed(event.event_type, subscriber.code, final=is_last)
            return SubscriberOutcome(subscriber, Outcome.FAILED, error)
        self.metrics.consumed(event.event_type, subscriber.code)
        return SubscriberOutcome(subscriber, Outcome.SUCCEEDED)


def summary(outcomes: Iterable[SubscriberOutcome]) -> str:
    """Return a line such as ``mail: failed, TimeoutError: no answer; stock: succeeded``."""
    return "; ".join(_line(each) for each in outcomes) or "no subscribers"


def cause(failures: Collection[SubscriberOutcome]) -> Exception | None:
    """Return the error of the first failure, or a group where several failed."""
    errors = [each.error for each in failures if each.error is not None]
    if len(errors) > 1:
        return ExceptionGroup("subscribers failed", errors)
    return errors[0] if errors else None


def _line(outcome: SubscriberOutcome) -> str:
    line = f"{outcome.subscriber.code}: {outcome.outcome.value}"
    if outcome.error is None:
        return line
    return f"{line}, {type(outcome.error).__name__}: {outcome.error}"


def refuse_unfinished(result: object) -> None:
    """Refuse what stands for work that is not done, or not even begun."""
    is_later = isinstance(result, Future) or inspect.isawaitable(result)
    if is_later or inspect.isgenerator(result) or inspect.isasyncgen(result):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError(
            f"the handler returned a {type(result).__name__}: it has left its work to later"
        )
