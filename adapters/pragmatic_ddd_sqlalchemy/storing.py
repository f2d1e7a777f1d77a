"""Store: how messages become rows, within a transaction that somebody else commits.

What the messages themselves show is refused first, before anything is sent. The INSERT comes
afterwards, at once or together with the COMMIT.
"""

import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from pragmatic_ddd.errors import OutboxSchemaError
from pragmatic_ddd.ports.outbox_message import (
    ClaimedMessage,
    OutboxMessage,
    Reservation,
    StoredMessage,
)
from pragmatic_ddd_sqlalchemy.connection_capacity import refuse_narrow
from pragmatic_ddd_sqlalchemy.dialects.dialect import Inserted
from pragmatic_ddd_sqlalchemy.errors import translation
from pragmatic_ddd_sqlalchemy.row_limits import check_within_horizon, checked_token
from pragmatic_ddd_sqlalchemy.rows import row_of
from pragmatic_ddd_sqlalchemy.undone import refuse_undone

_Insert = Callable[
    [sa.Connection, Sequence[dict[str, Any]], Reservation | None], Mapping[str, Inserted]
]


@attrs.frozen
class Storing:
    """Puts messages into one table; no grace of theirs ends later than the horizon."""

    table: sa.Table
    horizon: dt.timedelta

    def prepare(
        self,
        connection: sa.Connection,
        messages: Sequence[OutboxMessage],
        reservation: Reservation | None,
        insert: _Insert,
    ) -> Callable[[], list[StoredMessage]]:
        """Refuse what the messages themselves show, and return what is left to do."""
        if reservation is not None:
            check_within_horizon(reservation.grace, self.horizon, "grace")
            checked_token(reservation.claim_token)
        rows = [row_of(message) for message in messages]

        def store() -> list[StoredMessage]:
            started = time.monotonic()
            try:  # as ``translated``, without what a generator takes on the way of each commit
                refuse_undone(connection)
                refuse_narrow(connection)
                inserted = insert(connection, rows, reservation)
            except SQLAlchemyError as error:
                raise translation(error, connection, self.table) from error
            try:
                return [
                    _stored(message, inserted[message.message_id], reservation, started)
                    for message in messages
                ]
            except KeyError as error:
                raise _dropped(self.table, rows, inserted) from error

        return store


def _dropped(
    table: sa.Table, rows: Sequence[dict[str, Any]], inserted: Mapping[str, Inserted]
) -> OutboxSchemaError:
    """Return the error for rows that the database was given, and does not know of."""
    dropped = [row["message_id"] for row in rows if row["message_id"] not in inserted]
    problem = (
        f"the database has dropped {len(dropped)} of {len(rows)} messages in silence, the first "
        f"is {dropped[0]!r}: {table.fullname} must have no trigger or rule that does so"
    )
    return OutboxSchemaError([problem])


def _stored(
    message: OutboxMessage, inserted: Inserted, reservation: Reservation | None, started: float
) -> StoredMessage:
    claim = None
    if reservation is not None and inserted.owned:
        claim = ClaimedMessage(
            id=inserted.id,
            message=message,
            claim_token=reservation.claim_token,
            deadline=started + reservation.grace.total_seconds(),
        )
    return StoredMessage(id=inserted.id, message=message, claim=claim)
