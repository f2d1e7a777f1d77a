"""An inbox that keeps one row for each aggregate: the place of its last event that was handled.

    inbox = SqlAlchemyWatermarkInbox(sessions)
    manager.register_subscriber("ship", OrderPaid, once(inbox, "ship", ship, on_gap=Wait()))

One statement, in the handler's transaction, moves the row from the place before an event to its
own; where the row is elsewhere, it is looked at: see ``verdict_on``. What is not there yet is not
locked: on MySQL and MariaDB that would lock the gap where it is missing, for all new aggregates.
"""

from collections.abc import Callable
from typing import Generic, cast

import attrs
import sqlalchemy as sa

from pragmatic_ddd.application.arguments import implements, of_type
from pragmatic_ddd.application.inbox import Verdict, place_of, verdict_on
from pragmatic_ddd.ports.event_place import BEFORE_ALL, EventPlace
from pragmatic_ddd.ports.inbox import Arrival, EventGap, Handling, IInbox
from pragmatic_ddd_sqlalchemy.dialects.watermark_sql import Row, WatermarkSql
from pragmatic_ddd_sqlalchemy.handler_transaction import HandlerTransactions, WorkT
from pragmatic_ddd_sqlalchemy.inbox_table import watermark_table
from pragmatic_ddd_sqlalchemy.row_limits import checked_text

_KEYS = ("subscriber", "aggregate_type", "aggregate_id")


@attrs.define(eq=False)
class SqlAlchemyWatermarkInbox(Generic[WorkT]):
    """Drops what comes again, and what comes after a later event of its aggregate; sees gaps.

    Its subscriber is to be given every event of an aggregate, under one name, without a
    condition and without a delay: what it is not given is missing. Rows are never purged.

    Attributes:
        begin: Makes what handlers work in: a sessionmaker, with an outbox or without, or a
            ``SqlAlchemyUnitsOfWork``.
        table: Made by ``watermark_table``, in the database to which the handlers write.
        unplaced: Handles events without a place; ``None``: they are refused.

    Raises:
        TypeError: Something else was given than is asked for.
    """

    begin: Callable[[], WorkT]
    table: sa.Table = attrs.field(
        factory=lambda: watermark_table(sa.MetaData()), validator=of_type(sa.Table)
    )
    unplaced: IInbox[WorkT] | None = attrs.field(
        default=None, validator=attrs.validators.optional(implements(IInbox)), kw_only=True
    )
    _transactions: HandlerTransactions[WorkT] = attrs.field(init=False, repr=False)
    _sql: WatermarkSql = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._transactions = HandlerTransactions(self.begin, self.table)
        self._sql = WatermarkSql(self.table)

    def handle(
        self, arrival: Arrival, handler: Callable[[WorkT], object], *, past_gap: bool = False
    ) -> Handling | EventGap:
        if arrival.place is None and self.unplaced is not None:
            return self.unplaced.handle(arrival, handler)
        row: Row = {name: checked_text(name, getattr(arrival, name)) for name in _KEYS}
        row |= _columns(place_of(arrival))

        def mark(connection: sa.Connection) -> Handling | EventGap | None:
            if past_gap or arrival.previous in (None, BEFORE_ALL):  # nothing can be missing
                return None if self._sql.raise_to(connection, row) else Handling.REPEATED
            return self._advance(connection, arrival, row)

        answer = cast("Handling | EventGap | None", self._transactions.run(mark, handler))
        return Handling.HANDLED if answer is None else answer

    def _advance(
        self, connection: sa.Connection, arrival: Arrival, row: Row
    ) -> Handling | EventGap | None:
        """Move a place from one event to the next; or return why its handler is not to be called.

        Mostly that is one statement. Where it is not, the row is locked and looked at.
        """
        if arrival.previous is not None and self._sql.advance(
            connection, row, _columns(arrival.previous)
        ):
            return None
        last = self._sql.look(connection, row)
        verdict = verdict_on(arrival, last, past_gap=False)
        if verdict is Verdict.REPEATED:
            return Handling.REPEATED
        if verdict is Verdict.GAP:
            return EventGap(arrival=arrival, last=last)
        self._sql.move(connection, row)
        return None


def _columns(place: EventPlace) -> Row:
    return {
        "epoch": place.epoch,
        "aggregate_version": place.version,
        "event_index": place.index,
    }
