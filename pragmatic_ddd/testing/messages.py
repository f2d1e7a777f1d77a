"""Messages for tests, with every field that a test does not care about filled in."""

import datetime as dt

from pragmatic_ddd.domain.identifiers import uuid7_text
from pragmatic_ddd.ports.outbox_message import (
    ClaimedMessage,
    Delivered,
    FailedTry,
    OutboxMessage,
    Reservation,
)

A_MINUTE = dt.timedelta(minutes=1)


def a_message(
    message_id: str | None = None,
    *,
    of: str = "1",
    version: int | None = 1,
    payload: bytes = b'{"total":"12.50"}',
    headers: dict[str, str] | None = None,
) -> OutboxMessage:
    """Return a message of aggregate ``of``."""
    return OutboxMessage(
        message_id=message_id or uuid7_text(),
        aggregate_type="shop.order",
        aggregate_id=of,
        aggregate_version=version,
        event_type="shop.order.paid",
        payload=payload,
        headers=headers or {},
    )


def a_reservation(grace: dt.timedelta = A_MINUTE) -> Reservation:
    """Return a reservation with a token of its own."""
    return Reservation(claim_token=uuid7_text(), grace=grace)


def delivered(*claimed: ClaimedMessage, receipt: str = "receipt") -> list[Delivered]:
    """Return claimed messages as confirmed."""
    return [Delivered(claimed=each, receipt=receipt) for each in claimed]


def failed(
    *claimed: ClaimedMessage,
    error: str = "refused",
    counted: bool = True,
    retry_in: dt.timedelta = A_MINUTE,
) -> list[FailedTry]:
    """Return claimed messages as failed."""
    return [
        FailedTry(claimed=each, error=error, counted=counted, retry_in=retry_in) for each in claimed
    ]


def message_ids(claimed: list[ClaimedMessage]) -> list[str]:
    """Return the ids of the messages, in order."""
    return [each.message.message_id for each in claimed]
