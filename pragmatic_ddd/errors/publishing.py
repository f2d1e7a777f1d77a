"""Errors of publishing events."""

from typing import ClassVar

from pragmatic_ddd.errors.root import InfrastructureError


class EventPublishError(InfrastructureError):
    """An event was not published, or not confirmed. It may have been delivered: send it again.

    Raised as it is, the event is at fault (a subscriber failed, the broker refused it for now):
    the try counts.

    Attributes:
        event_id: The event's id.
        topic: The topic that it was sent to.
        reason: What the adapter knows of the cause.
    """

    retryable: ClassVar[bool] = True

    def __init__(self, event_id: str, topic: str, reason: str) -> None:
        super().__init__(event_id, topic, reason)
        self.event_id = event_id
        self.topic = topic
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"broker did not confirm event {self.event_id} on topic {self.topic!r}: {self.reason}"
        )


class EventUnconfirmedError(EventPublishError):
    """No confirmation, and the client cannot tell whether the event or the broker is at fault.

    The try counts only if the same broker confirmed another event since the previous one.
    """


class BrokerUnavailableError(EventPublishError):
    """The broker cannot be reached: no event's fault, so no event's attempts are counted."""

    def __str__(self) -> str:
        return (
            f"broker is not available for event {self.event_id} on topic {self.topic!r}: "
            f"{self.reason}"
        )


class EventRejectedError(EventPublishError):
    """The broker, or the adapter on its behalf, will never take this event. It was not sent."""

    retryable: ClassVar[bool] = False

    def __str__(self) -> str:
        return f"event {self.event_id} is refused on topic {self.topic!r}: {self.reason}"
