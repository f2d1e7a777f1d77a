"""Subscribers that handle each event once: the one line that puts an inbox before a handler.

    manager.register_subscriber("ship", OrderPaid, once(inbox, "ship", ship))

The handler is given the event, and the transaction in which the event is marked as handled.
"""

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

import attrs

from pragmatic_ddd.application.arguments import can_be_called, implements, in_words
from pragmatic_ddd.application.events.dispatch import refuse_unfinished
from pragmatic_ddd.application.events.subscribers import is_asynchronous
from pragmatic_ddd.application.inbox.arrival import arrival_of, fetched_arrival_of
from pragmatic_ddd.application.inbox.gap_policies import Wait
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import EventGapError
from pragmatic_ddd.ports.inbox import Arrival, EventGap, Handling, IGapPolicy, IInbox

EventT = TypeVar("EventT", bound=DomainEvent)
WorkT = TypeVar("WorkT")

_logger = logging.getLogger(__name__)

_WAIT = Wait()


@attrs.frozen(kw_only=True)
class OnceSubscriber(Generic[EventT, WorkT]):
    """Calls a handler once for each event; made by ``once``, called by an event manager.

    Attributes:
        inbox: Remembers what was handled.
        subscriber: Whose memory it is.
        handler: Given the event and the open transaction.
        on_gap: Decides where events are missing before one.
    """

    inbox: IInbox[WorkT] = attrs.field(validator=implements(IInbox))
    subscriber: str = attrs.field(validator=in_words())
    handler: Callable[[EventT, WorkT], object] = attrs.field(validator=can_be_called())
    on_gap: IGapPolicy = attrs.field(default=_WAIT, validator=implements(IGapPolicy))

    def __attrs_post_init__(self) -> None:
        if is_asynchronous(self.handler):
            raise TypeError(
                f"handler of {self.subscriber!r}: a coroutine, which nobody would await"
            )

    def __call__(self, event: EventT) -> None:
        """Handle an event unless it was handled; see ``IInbox.handle``.

        Raises:
            EventGapError: Events before it are missing; it must be delivered again.
            ValueError: The policy has brought an event of another aggregate.
            Exception: As ``IInbox.handle``, or of the handler.
        """
        arrival = arrival_of(event, self.subscriber)
        answer = self._handle(event, arrival, past_gap=False)
        if isinstance(answer, EventGap):
            answer = self._bridge(event, answer)
        if isinstance(answer, EventGap):
            raise _gap_error(answer)
        if answer is Handling.REPEATED:
            _logger.debug("event %s was handled before by %s", event.event_id, self.subscriber)

    def _handle(self, event: EventT, arrival: Arrival, *, past_gap: bool) -> Handling | EventGap:
        return self.inbox.handle(
            arrival,
            lambda work: refuse_unfinished(self.handler(event, work)),
            past_gap=past_gap,
        )

    def _bridge(self, event: EventT, gap: EventGap) -> Handling | EventGap:
        decision = self.on_gap.decide(gap)
        for missing in decision.missing:
            if missing.event_id != gap.arrival.message_id:
                # Any class: which ones are brought is between the policy and the handler.
                self._handle_missing(missing, gap)
        if decision.missing or decision.go_on:
            return self._handle(event, gap.arrival, past_gap=decision.go_on)
        return gap

    def _handle_missing(self, event: DomainEvent, gap: EventGap) -> None:
        handler: Callable[[DomainEvent, WorkT], object] = self.handler  # type: ignore[assignment]
        arrival = fetched_arrival_of(event, gap)
        _check_same_aggregate(arrival, gap.arrival)
        answer = self.inbox.handle(arrival, lambda work: refuse_unfinished(handler(event, work)))
        if isinstance(answer, EventGap):
            raise _gap_error(answer)


def once(
    inbox: IInbox[WorkT],
    subscriber: str,
    handler: Callable[[EventT, WorkT], object],
    *,
    on_gap: IGapPolicy = _WAIT,
) -> OnceSubscriber[EventT, WorkT]:
    """Return a subscriber that calls a handler once for each event.

    Args:
        inbox: Remembers what was handled, in the database to which the handler writes.
        subscriber: Whose memory it is: no other handler that has to see the same events may have
            the same name in that database. Keep it: with a new name everything is new.
        handler: Given the event, and what the inbox works in: a session, a unit of work. It must
            neither commit it nor roll it back. An exception takes back what it has written.
        on_gap: Decides where an inbox says that events before one are missing.

    Raises:
        TypeError: Something else was given than is asked for, or a coroutine function.
        ValueError: The subscriber's name is blank.
    """
    return OnceSubscriber(inbox=inbox, subscriber=subscriber, handler=handler, on_gap=on_gap)


def _check_same_aggregate(brought: Arrival, arrival: Arrival) -> None:
    """Refuse an event of another aggregate: its own predecessors would count as handled."""
    its, needed = (
        (one.aggregate_type or arrival.aggregate_type, one.aggregate_id)
        for one in (brought, arrival)
    )
    if its != needed:
        raise ValueError(
            f"event {brought.message_id} of {its[0]} {its[1]!r} was brought for a gap of "
            f"{needed[0]} {needed[1]!r}: only events of the same aggregate can be missing"
        )


def _gap_error(gap: EventGap) -> EventGapError:
    arrival = gap.arrival
    return EventGapError(
        subscriber=arrival.subscriber,
        message_id=arrival.message_id,
        aggregate=(arrival.aggregate_type, arrival.aggregate_id),
        place=str(arrival.place),
        previous=str(arrival.previous),
        last="" if gap.last is None else str(gap.last),
    )
