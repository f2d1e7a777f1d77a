"""An inbox in a table: one row for each event that a subscriber has handled.

    inbox = SqlAlchemyInbox(sessions)           # or SqlAlchemyUnitsOfWork(sessions)
    manager.register_subscriber("ship", OrderPaid, once(inbox, "ship", ship))

    def ship(event: OrderPaid, session: Session) -> None: ...

The row is inserted before the handler is called, in its transaction: a second delivery at the
same time waits at the key until the first one has committed, and is dropped, or has failed, and
goes on.
"""

import datetime as dt
from collections.abc import Callable
from typing import Generic

import attrs
import sqlalchemy as sa

from pragmatic_ddd.application.arguments import check_count, check_type, of_type
from pragmatic_ddd.ports.inbox import Arrival, EventGap, Handling
from pragmatic_ddd_sqlalchemy.dialects.inbox_sql import InboxSql
from pragmatic_ddd_sqlalchemy.handler_transaction import HandlerTransactions, WorkT
from pragmatic_ddd_sqlalchemy.inbox_table import inbox_table
from pragmatic_ddd_sqlalchemy.row_limits import checked_text


@attrs.define(eq=False)
class SqlAlchemyInbox(Generic[WorkT]):
    """Drops each event that comes again, in whatever order they come. It keeps no order itself.

    Attributes:
        begin: Makes what handlers work in: a sessionmaker, with an outbox or without, or a
            ``SqlAlchemyUnitsOfWork``.
        table: Made by ``inbox_table``, in the database to which the handlers write.

    Raises:
        TypeError: Something else was given than is asked for.
    """

    begin: Callable[[], WorkT]
    table: sa.Table = attrs.field(
        factory=lambda: inbox_table(sa.MetaData()), validator=of_type(sa.Table)
    )
    _transactions: HandlerTransactions[WorkT] = attrs.field(init=False, repr=False)
    _sql: InboxSql = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._transactions = HandlerTransactions(self.begin, self.table)
        self._sql = InboxSql(self.table)

    def handle(
        self, arrival: Arrival, handler: Callable[[WorkT], object], *, past_gap: bool = False
    ) -> Handling | EventGap:
        key = {
            "subscriber": checked_text("subscriber", arrival.subscriber),
            "message_id": checked_text("message_id", arrival.message_id),
        }
        answer = self._transactions.run(
            lambda connection: None if self._sql.insert(connection, key) else Handling.REPEATED,
            handler,
        )
        return Handling.HANDLED if answer is None else answer

    def purge(self, *, older_than: dt.timedelta, batch_size: int = 1000) -> int:
        """Forget, in one transaction, events that were handled long ago; return how many.

        What is forgotten and comes again is handled again. Call it until it returns less than
        ``batch_size``.

        Args:
            older_than: Longer than an event can come again: see the retention of the outbox and
                of the broker.
            batch_size: The most that it deletes.

        Raises:
            OutboxStoreError: The database failed; nothing was deleted.
            TypeError: Something else was given than is asked for.
            ValueError: ``batch_size`` is below 1.
        """
        check_type("older_than", older_than, dt.timedelta)
        check_count("batch_size", batch_size)
        deleted = 0

        def delete(connection: sa.Connection) -> None:
            nonlocal deleted
            deleted = self._sql.purge(connection, older_than.total_seconds(), batch_size)

        self._transactions.run(delete, _do_nothing)
        return deleted


def _do_nothing(_: object) -> None: ...
