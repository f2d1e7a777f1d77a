"""Rows of the outbox as messages; messages, and what became of them, as rows."""

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from typing import Any

from pragmatic_ddd.ports.outbox_message import (
    ClaimedMessage,
    FailedTry,
    OutboxEntry,
    OutboxMessage,
    OutboxStatus,
)
from pragmatic_ddd_sqlalchemy.row_limits import (
    BITS,
    checked_key,
    checked_number,
    fits_at_a_glance,
    headers_text,
    payload_text,
    shortened,
)
from pragmatic_ddd_sqlalchemy.table import LONGEST_ERROR

# What is read of a row, in this order: rows are unpacked, which is three times as fast as
# asking them for each column by name.
CLAIMED_COLUMNS = (
    "id",
    "attempts",
    "failures",
    "message_id",
    "aggregate_type",
    "aggregate_id",
    "aggregate_version",
    "event_index",
    "event_type",
    "event_version",
    "payload",
    "headers",
)
ENTRY_COLUMNS = (
    *CLAIMED_COLUMNS,
    "status",
    "due_at",
    "last_error",
    "created_at",
    "sent_at",
    "receipt",
)
# What people see in the place of a payload that is none.
_UNREADABLE = '"(cannot be read)"'
_CLAIMED = len(CLAIMED_COLUMNS)
# Does not look for blanks around the value: twice as fast as loads().
_decode = json.JSONDecoder().raw_decode
_ONLY_TEXT = frozenset({str})

Row = Sequence[Any]

_KEYS = ("message_id", "aggregate_type", "aggregate_id", "event_type")

# The smallest packet that MySQL servers are set to is a million bytes, and a character of JSON
# becomes four bytes of a statement at most.
_LONGEST_BATCH = 250_000


# Made once: dumps() would make one for each call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def as_json(value: object) -> str:
    """Return a batch as one parameter."""
    return _encode(value)


def batches(values: Sequence[object]) -> Iterator[str]:
    """Yield values as parameters, nearly always one, each of a size that every server takes."""
    if not values:
        return
    text = as_json(values)
    if len(text) <= _LONGEST_BATCH or len(values) == 1:
        yield text
    else:
        half = len(values) // 2
        yield from batches(values[:half])
        yield from batches(values[half:])


def row_of(message: OutboxMessage) -> dict[str, Any]:
    """Return the columns that a message fills.

    Raises:
        RefusedByDatabaseError: A key is too long, a number too large, a header no text, or
            there is text that cannot be stored.
    """
    row: dict[str, Any] = {
        "message_id": message.message_id,
        "aggregate_type": message.aggregate_type,
        "aggregate_id": message.aggregate_id,
        "aggregate_version": message.aggregate_version,
        "event_index": message.event_index,
        "event_type": message.event_type,
        "event_version": message.event_version,
        "payload": payload_text(message),
        "headers": headers_text(message),
    }
    if not fits_at_a_glance(message):
        row |= {key: checked_key(message, key) for key in _KEYS}
        row |= {name: checked_number(message, name) for name in BITS}
    return row


def fence_of(claimed: ClaimedMessage) -> dict[str, object]:
    """Return what a result names: its row, and the token without which it changes nothing."""
    return {"id": claimed.id, "claim_token": claimed.claim_token}


def failure_of(failed: FailedTry) -> dict[str, object]:
    """Return a result that is a failure."""
    return fence_of(failed.claimed) | {
        "error": shortened(failed.error, LONGEST_ERROR),
        "counted": int(failed.counted),
    }


def message_of(values: Sequence[Any]) -> OutboxMessage:
    """Return the message that nine columns hold, with exactly the bytes that were stored.

    Raises:
        ValueError: Somebody else has written them: that is no message.
    """
    (
        message_id,
        aggregate_type,
        aggregate_id,
        aggregate_version,
        event_index,
        event_type,
        event_version,
        payload,
        headers,
    ) = values
    if not isinstance(payload, str):
        # SQLite keeps whatever it is given.
        raise ValueError(f"payload is {type(payload).__name__}")  # noqa: TRY004  # of the row
    return OutboxMessage(
        message_id=message_id,
        aggregate_type=aggregate_type,
        aggregate_id=aggregate_id,
        aggregate_version=aggregate_version,
        event_index=event_index,
        event_type=event_type,
        event_version=event_version,
        payload=payload.encode(),
        headers=_headers_of(headers),
    )


def claimed_of(row: Row, *, claim_token: str, deadline: float, taken_over: bool) -> ClaimedMessage:
    """Return a row of ``CLAIMED_COLUMNS`` as its new holder sees it.

    Raises:
        ValueError: It cannot be read.
    """
    row_id, attempts, failures, *message = row
    return ClaimedMessage(
        id=row_id,
        message=message_of(message),
        claim_token=claim_token,
        deadline=deadline,
        attempts=attempts,
        failures=failures,
        taken_over=taken_over,
    )


def entry_of(row: Row) -> OutboxEntry:
    """Return a row of ``ENTRY_COLUMNS`` as people see it, also one that cannot be read."""
    row_id, attempts, failures, *values = row[:_CLAIMED]
    try:
        message = message_of(values)
    except ValueError:
        message = message_of([*values[:-2], _UNREADABLE, "{}"])
    status, due_at, last_error, created_at, sent_at, receipt = row[_CLAIMED:]
    return OutboxEntry(
        id=row_id,
        message=message,
        status=OutboxStatus(status),
        attempts=attempts,
        failures=failures,
        last_error=last_error,
        created_at=_utc(created_at),
        due_at=_utc(due_at),
        sent_at=None if sent_at is None else _utc(sent_at),
        receipt=receipt,
    )


def _headers_of(text: str) -> dict[str, str]:
    if text == "{}":
        return {}
    try:
        headers, end = _decode(text)
        if end != len(text):
            headers = json.loads(text)
    except RecursionError as error:
        raise ValueError(str(error)) from error
    if not isinstance(headers, dict) or not _ONLY_TEXT.issuperset(map(type, headers.values())):
        raise ValueError(f"headers {text[:100]!r}: a JSON object of strings")
    return headers


def _utc(value: dt.datetime | str) -> dt.datetime:
    # SQLite has text; MySQL and MariaDB have no zone; PostgreSQL has that of the session.
    instant = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
    if instant.tzinfo is None:
        return instant.replace(tzinfo=dt.UTC)
    return instant.astimezone(dt.UTC)
