"""Errors of the inbox."""

from typing import ClassVar

from pragmatic_ddd.errors.root import InfrastructureError


class EventGapError(InfrastructureError):
    """Events of an aggregate have not been handled yet, and this one must not go before them.

    Deliver it again, later. It was not handled, and there is no mark.

    Attributes:
        subscriber: Whose order it is.
        message_id: The event that came too soon.
        aggregate: Type and id of its aggregate.
        place: Its place in the aggregate's history.
        previous: The place of the last event before it.
        last: The place of the last event that was handled; empty: none was.
    """

    retryable: ClassVar[bool] = True

    def __init__(
        self,
        *,
        subscriber: str,
        message_id: str,
        aggregate: tuple[str, str],
        place: str,
        previous: str,
        last: str,
    ) -> None:
        super().__init__(subscriber, message_id, aggregate, place, previous, last)
        self.subscriber = subscriber
        self.message_id = message_id
        self.aggregate = aggregate
        self.place = place
        self.previous = previous
        self.last = last

    def __str__(self) -> str:
        kind, key = self.aggregate
        handled = f"up to {self.last}" if self.last else "nothing of it"
        return (
            f"event {self.message_id} ({self.place} of {kind} {key!r}) came before "
            f"{self.previous}: {self.subscriber} has handled {handled}"
        )


class UnplacedEventError(InfrastructureError):
    """An inbox goes by an event's place in the history of its aggregate, and it has none.

    It was not handled. Where such events are to be expected, give the inbox another one for them.

    Attributes:
        subscriber: Who was to handle it.
        message_id: The event.
        reason: Why it has no place.
    """

    def __init__(self, subscriber: str, message_id: str, reason: str) -> None:
        super().__init__(subscriber, message_id, reason)
        self.subscriber = subscriber
        self.message_id = message_id
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"event {self.message_id} for {self.subscriber} has no place in the history of its "
            f"aggregate: {self.reason}"
        )
