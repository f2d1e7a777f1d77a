"""When an event counts as delivered in process, and what is kept of it."""

from collections.abc import Sequence

from pragmatic_ddd.application.events import Outcome, SubscriberOutcome
from pragmatic_ddd.application.events.dispatch import cause, summary
from pragmatic_ddd.errors import EventPublishError
from pragmatic_ddd.ports import Receipt

TOPIC = "in-process"
LONGEST_RECEIPT = 500


def confirm(event_id: str, outcomes: Sequence[SubscriberOutcome]) -> None:
    """Return if no subscriber failed.

    Raises:
        EventPublishError: At least one did; it names all of them.
    """
    failures = [each for each in outcomes if each.outcome is Outcome.FAILED]
    if failures:
        raise EventPublishError(event_id, TOPIC, summary(failures)) from cause(failures)


def receipt_for(outcomes: Sequence[SubscriberOutcome]) -> Receipt:
    """Return what the row keeps: who was called, and how it went."""
    return Receipt(f"{TOPIC}: {summary(outcomes)}"[:LONGEST_RECEIPT])
