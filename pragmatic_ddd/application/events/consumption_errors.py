"""How the consumption of an event fails, and whether another try can help."""

from typing import ClassVar

from pragmatic_ddd.application.events.dispatch import SubscriberOutcome
from pragmatic_ddd.errors import EventDeserializationError, PragmaticError, UnplacedEventError


class SubscribersFailedError(PragmaticError):
    """Subscribers of an event failed; ``__cause__`` is the error of the first.

    Attributes:
        event_type: Stable name of the event.
        event_id: The event.
        failures: Their outcomes.
    """

    retryable: ClassVar[bool] = True

    def __init__(self, event_type: str, event_id: str, failures: list[SubscriberOutcome]) -> None:
        super().__init__(event_type, event_id, failures)
        self.event_type = event_type
        self.event_id = event_id
        self.failures = failures

    def __str__(self) -> str:
        lines = (
            f"{each.subscriber.code}: {type(each.error).__name__}: {each.error}"
            for each in self.failures
        )
        return f"event {self.event_type} {self.event_id} failed at {'; '.join(lines)}"


def is_final(error: BaseException) -> bool:
    """Say whether trying again is useless, because all that is wrong is in the message itself.

    A message that cannot be read stays so, and an event without a place never gets one. Of
    subscribers that failed every one must have failed so.
    """
    if isinstance(error, SubscribersFailedError):
        causes = [each.error for each in error.failures]
        return bool(causes) and all(is_unplaced(each, error.event_id) for each in causes)
    return isinstance(error, EventDeserializationError)


def is_unplaced(error: BaseException | None, event_id: str) -> bool:
    """Say whether an inbox cannot place that very event; of one that it fetched it may yet."""
    return isinstance(error, UnplacedEventError) and error.message_id == event_id
