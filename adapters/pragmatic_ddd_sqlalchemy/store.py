"""The outbox in a database, over SQLAlchemy."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence

import attrs
import sqlalchemy as sa

from pragmatic_ddd.application.arguments import check_count, check_type, of_type
from pragmatic_ddd.application.forking import reset_in_child
from pragmatic_ddd.ports.outbox_message import (
    Backlog,
    ClaimedMessage,
    Delivered,
    FailedTry,
    OutboxEntry,
    OutboxMessage,
    Reservation,
    StoredMessage,
)
from pragmatic_ddd_sqlalchemy.claiming import Claiming
from pragmatic_ddd_sqlalchemy.dead_letters import bury
from pragmatic_ddd_sqlalchemy.dialects import IOutboxDialect, outbox_dialect
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.engine import is_in_memory, refuse_unprepared
from pragmatic_ddd_sqlalchemy.maintenance import Maintenance
from pragmatic_ddd_sqlalchemy.own_transactions import OwnTransactions
from pragmatic_ddd_sqlalchemy.row_limits import check_within_horizon, shortened, unique
from pragmatic_ddd_sqlalchemy.rows import as_json, batches, entry_of, failure_of, fence_of
from pragmatic_ddd_sqlalchemy.storing import Storing
from pragmatic_ddd_sqlalchemy.table import LONGEST_RECEIPT, outbox_message
from pragmatic_ddd_sqlalchemy.transactions import SqlAlchemyTransactionOperations
from pragmatic_ddd_sqlalchemy.undone import notice_undone

_SMALLEST_WAIT = dt.timedelta(microseconds=1)
# The first would commit the marks and half a claim at once, the second refuses who comes second.
_OF_ONE_CONNECTION = (sa.StaticPool, sa.AssertionPool)


@attrs.define(eq=False)
class SqlAlchemyOutboxStore:
    """Keeps outbox messages in a table. Safe to call from any thread.

    Attributes:
        engine: A sync engine; its pool serves the store's own short transactions. A forked child
            begins with an empty one: it must not talk on its parent's connections.
        table: Made by ``outbox_table``.
        transactions: Whose transaction ``store`` joins.
        horizon: Nothing is due later than this from now: at least the longest lease, grace,
            backoff and parking (an hour). A retry is due by then, and what is due still later,
            because the database's clock has stepped back, is brought back.
    """

    engine: sa.Engine
    table: sa.Table = attrs.field(default=outbox_message, validator=of_type(sa.Table))
    transactions: SqlAlchemyTransactionOperations = attrs.field(
        default=attrs.Factory(
            lambda store: SqlAlchemyTransactionOperations(store.engine), takes_self=True
        ),
        validator=of_type(SqlAlchemyTransactionOperations),
        kw_only=True,
    )
    horizon: dt.timedelta = attrs.field(
        default=dt.timedelta(hours=2), validator=of_type(dt.timedelta), kw_only=True
    )
    _dialect: IOutboxDialect = attrs.field(init=False, repr=False)
    _storing: Storing = attrs.field(init=False, repr=False)
    _own: OwnTransactions = attrs.field(init=False, repr=False)
    _claiming: Claiming = attrs.field(init=False, repr=False)
    _maintenance: Maintenance = attrs.field(init=False, repr=False)
    _inherited: sa.Pool | None = attrs.field(default=None, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        refuse_unprepared(self.engine)
        notice_undone()
        self._dialect = outbox_dialect(self.table, self.engine.dialect)
        self._storing = Storing(self.table, self.horizon)
        self._own = OwnTransactions(self.engine, self._dialect, self.table)
        self._claiming = Claiming(self._dialect, self._own)
        self._maintenance = Maintenance(self._dialect.statements, self._own, self.horizon)
        reset_in_child(self._begin_without_connections)

    def store(
        self, messages: Sequence[OutboxMessage], *, reservation: Reservation | None = None
    ) -> list[StoredMessage]:
        operations = self.transactions
        return operations.execute(
            lambda: self.store_in(operations.connection, messages, reservation)
        )

    def store_in(
        self,
        connection: sa.Connection,
        messages: Sequence[OutboxMessage],
        reservation: Reservation | None = None,
    ) -> list[StoredMessage]:
        """Do what ``store`` does, in the transaction that a connection has open."""
        if not messages:
            return []
        return self._storing.prepare(connection, messages, reservation, self._dialect.insert)()

    def storing_with_commit(
        self,
        connection: sa.Connection,
        messages: Sequence[OutboxMessage],
        reservation: Reservation | None = None,
    ) -> Callable[[], list[StoredMessage]] | None:
        """Return what does what ``store_in`` does and commits, both in one round trip.

        Returns:
            Call it as the last thing of the transaction, before the driver's commit, which has
            nothing left to do. It raises as ``store_in`` where the rows are refused, and as the
            driver does where the commit is, or the connection is lost. ``None``: it cannot be done
            on this connection; use ``store_in``.
        """
        insert = self._dialect.committing_insert
        if insert is None or not insert.can_commit(connection):
            return None
        return self._storing.prepare(connection, messages, reservation, insert.insert_and_commit)

    @property
    def settles_beside_claims(self) -> bool:
        has_many = not isinstance(self.engine.pool, _OF_ONE_CONNECTION)
        return has_many and self._dialect.settles_beside_claims

    def claim_pending(
        self, *, batch_size: int, lease: dt.timedelta, confirmed_token: str | None = None
    ) -> list[ClaimedMessage]:
        check_within_horizon(lease, self.horizon, "lease")
        return self._claiming.claim_pending(batch_size, lease.total_seconds(), confirmed_token)

    def claim(self, ids: Sequence[int], *, lease: dt.timedelta) -> list[ClaimedMessage]:
        check_within_horizon(lease, self.horizon, "lease")
        return self._claiming.claim(ids, lease.total_seconds())

    def unclaimed(self, ids: Sequence[int]) -> set[int]:
        if not ids:
            return set()
        statement, batch = self._dialect.statements.unclaimed, as_json(sorted(set(ids)))
        return self._own.read(
            lambda connection: set(statement.execute(connection, {"batch": batch}).scalars())
        )

    def mark_sent(self, delivered: Sequence[Delivered]) -> int:
        return self._settle(
            self._dialect.statements.mark_sent,
            [
                {
                    "id": one.claimed.id,
                    "claim_token": one.claimed.claim_token,
                    "receipt": shortened(one.receipt, LONGEST_RECEIPT),
                }
                for one in delivered
            ],
        )

    def release(self, claimed: Sequence[ClaimedMessage]) -> int:
        return self._settle(self._dialect.statements.release, [fence_of(one) for one in claimed])

    def retry_later(self, failed: Sequence[FailedTry]) -> int:
        return self._settle(
            self._dialect.statements.retry_later,
            [failure_of(one) | {"retry_in": one.retry_in.total_seconds()} for one in failed],
            {"horizon": self.horizon.total_seconds()},
        )

    def mark_failed(self, failed: Sequence[FailedTry]) -> int:
        if not failed:
            return 0
        failures = [failure_of(one) for one in failed]
        return self._own.write(lambda connection: bury(connection, self._dialect, failures))

    def tidy(self) -> int:
        return self._maintenance.tidy()

    def next_due_in(self) -> dt.timedelta | None:
        statement = self._dialect.statements.next_due
        seconds = self._own.read(lambda connection: statement.execute(connection).scalar())
        if seconds is None:
            return None
        return max(dt.timedelta(seconds=float(seconds)), _SMALLEST_WAIT)

    def backlog(self) -> Backlog:
        statement = self._dialect.statements.backlog
        row = self._own.read(lambda connection: statement.execute(connection).one())
        return Backlog(
            pending=row.pending,
            processing=row.processing,
            failed=row.failed,
            oldest_unsent_age=dt.timedelta(seconds=max(0.0, float(row.oldest_age or 0))),
        )

    def list_failed(self, *, limit: int = 100, after_id: int = 0) -> list[OutboxEntry]:
        check_count("limit", limit)
        check_type("after_id", after_id, int)
        return self._entries(
            self._dialect.statements.list_failed, {"limit": limit, "after_id": after_id}
        )

    def find(self, message_id: str) -> OutboxEntry | None:
        check_type("message_id", message_id, str)
        if not unique([message_id]):
            return None
        entries = self._entries(self._dialect.statements.find, {"message_id": message_id})
        return entries[0] if entries else None

    def replay(self, message_ids: Sequence[str], *, out_of_order: bool = False) -> int:
        return self._maintenance.replay(message_ids, out_of_order=out_of_order)

    def skip(self, message_ids: Sequence[str], *, by: str, reason: str) -> int:
        return self._maintenance.skip(message_ids, by=by, reason=reason)

    def purge(self, *, older_than: dt.timedelta, batch_size: int = 1000) -> int:
        check_type("older_than", older_than, dt.timedelta)
        check_count("batch_size", batch_size)
        return self._maintenance.purge(older_than, batch_size)

    def _begin_without_connections(self) -> None:
        if not is_in_memory(self.engine):
            self._inherited = self.engine.pool  # kept: what is thrown away might say goodbye
            self.engine.dispose(close=False)

    def _settle(
        self,
        statement: Sql,
        batch: Sequence[Mapping[str, object]],
        parameters: Mapping[str, object] | None = None,
    ) -> int:
        if not batch:
            return 0
        parts = [{"batch": part, **(parameters or {})} for part in batches(batch)]
        return self._own.write(
            lambda connection: sum(statement.execute(connection, part).rowcount for part in parts)
        )

    def _entries(self, statement: Sql, parameters: Mapping[str, object]) -> list[OutboxEntry]:
        return self._own.read(
            lambda connection: [
                entry_of(row) for row in statement.execute(connection, parameters).all()
            ]
        )
