"""Sequences of ids in a table, for every process that uses the database.

allocator = SqlAlchemySegmentAllocator(engine)
allocator.create("shop.order")               # once, in a migration or at start-up
"""

from collections.abc import Callable
from typing import TypeVar

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from pragmatic_ddd.application.arguments import check_count, check_words, of_type
from pragmatic_ddd.application.forking import reset_in_child
from pragmatic_ddd.errors import (
    IdAllocationError,
    IdSequenceExhaustedError,
    UnknownIdSequenceError,
)
from pragmatic_ddd.ports.identifiers import LARGEST_ID, IdSegment
from pragmatic_ddd_sqlalchemy.engine import refuse_unsafe
from pragmatic_ddd_sqlalchemy.errors import (
    is_conflict,
    is_read_only,
    replace_useless_connections,
)
from pragmatic_ddd_sqlalchemy.id_segment_table import id_segment_table
from pragmatic_ddd_sqlalchemy.own_transactions import pause
from pragmatic_ddd_sqlalchemy.sqlite_writers import SqliteWriters
from pragmatic_ddd_sqlalchemy.table import LONGEST_KEY

T = TypeVar("T")

_TRIES = 8
_WAITS_FOR_ITSELF = (
    "this thread has a write transaction open on the same SQLite file, and would wait for itself"
)


@attrs.define(eq=False)
class SqlAlchemySegmentAllocator:
    """Reserves segments in short transactions of its own, at READ COMMITTED.

    Safe in any number of threads and processes. Each use takes one connection from the pool:
    leave it one more than your own threads can hold at once.

    Attributes:
        engine: A sync engine; on SQLite one of ``create_sqlite_engine``, not in memory. A forked
            child begins with an empty pool: it must not talk on its parent's connections.
        table: Made by ``id_segment_table``.

    Raises:
        ConfigurationError: The engine is async, in AUTOCOMMIT, in memory or not made safe.
        TypeError: It is no engine, or no table.
    """

    engine: sa.Engine
    table: sa.Table = attrs.field(
        factory=lambda: id_segment_table(sa.MetaData()), validator=of_type(sa.Table)
    )
    _writers: SqliteWriters | None = attrs.field(default=None, init=False, repr=False)
    _inherited: sa.Pool | None = attrs.field(default=None, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        refuse_unsafe(self.engine)
        replace_useless_connections(self.engine)
        if self.engine.dialect.name == "sqlite":
            self._writers = SqliteWriters.of(self.engine)
        reset_in_child(self._begin_without_connections)

    def _begin_without_connections(self) -> None:
        self._inherited = self.engine.pool  # kept: what is thrown away might say goodbye
        self.engine.dispose(close=False)

    def create(self, sequence: str, *, first: int = 1) -> None:
        """Create a sequence; one that is there already stays as it is.

        Args:
            sequence: Its name, of up to 200 characters.
            first: Its first id: larger than any that was used before there was the sequence.

        Raises:
            IdAllocationError: The database failed; or this thread has a transaction open for
                which this would wait.
            TypeError: The name is no text, or ``first`` no whole number.
            ValueError: The name is blank or too long, or ``first`` is below 1 or too large.
        """
        check_words("sequence", sequence)
        if len(sequence) > LONGEST_KEY:
            raise ValueError(f"sequence = {sequence!r:.60}: at most {LONGEST_KEY} characters")
        check_count("first", first)
        if first > LARGEST_ID:
            raise ValueError(f"first = {first}: at most {LARGEST_ID}")
        self._in_own_transaction(
            sequence, lambda connection: self._insert(connection, sequence, first)
        )

    def allocate(self, sequence: str, *, size: int) -> IdSegment:
        check_words("sequence", sequence)
        check_count("size", size)
        return self._in_own_transaction(
            sequence, lambda connection: self._reserve(connection, sequence, size)
        )

    def would_wait_for_caller(self) -> bool:
        return self._writers is not None and self._writers.has_this_thread()

    def _insert(self, connection: sa.Connection, sequence: str, first: int) -> None:
        if self._last_id(connection, sequence) is None:
            row = {"sequence": sequence, "last_id": first - 1}
            connection.execute(sa.insert(self.table).values(row))

    def _reserve(self, connection: sa.Connection, sequence: str, size: int) -> IdSegment:
        last = self._last_id(connection, sequence)
        if last is None:
            raise UnknownIdSequenceError(
                sequence, f"table {self.table.fullname} has no such row: create() makes it"
            )
        if size > LARGEST_ID - last:
            raise IdSequenceExhaustedError(sequence, f"{last} + {size} > {LARGEST_ID}")
        ids = self.table.c
        raised = connection.execute(
            sa.update(self.table)
            .where(ids.sequence == sequence, ids.last_id == last)
            .values(last_id=last + size)
        )
        if raised.rowcount != 1:  # the row was not locked after all: nothing is reserved twice
            raise IdAllocationError(sequence, "somebody else was faster")
        return IdSegment(sequence, last + 1, last + size)

    def _last_id(self, connection: sa.Connection, sequence: str) -> int | None:
        """Lock the row of a sequence; ``None``: there is none."""
        ids = self.table.c
        found = connection.execute(
            sa.select(ids.sequence, ids.last_id).where(ids.sequence == sequence).with_for_update()
        ).one_or_none()
        # MySQL and MariaDB find "order" when they are asked for "order ".
        return found.last_id if found is not None and found.sequence == sequence else None

    def _in_own_transaction(self, sequence: str, work: Callable[[sa.Connection], T]) -> T:
        if self.would_wait_for_caller():
            raise IdAllocationError(sequence, _WAITS_FOR_ITSELF)
        try:
            for tries in range(1, _TRIES):
                try:
                    return self._once(work)
                except DBAPIError as error:
                    if not _may_go_well_again(error):
                        raise
                pause(tries)
            return self._once(work)
        except SQLAlchemyError as error:
            raise IdAllocationError(sequence, self._told(error)) from error

    def _once(self, work: Callable[[sa.Connection], T]) -> T:
        with self.engine.connect() as connection:
            if self._writers is None:
                connection.execution_options(isolation_level="READ COMMITTED")
            with connection.begin():
                return work(connection)

    def _told(self, error: SQLAlchemyError) -> str:
        told = f"{type(error).__name__}: {getattr(error, 'orig', error)}"
        if self.table.name in told:
            told += f"; is there a table {self.table.fullname}? id_segment_ddl() creates it"
        return told


def _may_go_well_again(error: DBAPIError) -> bool:
    """Say whether others were in the way, such as one who creates the same sequence."""
    return isinstance(error, IntegrityError) or is_conflict(error) or is_read_only(error)
