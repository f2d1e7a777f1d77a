"""What the outbox asks of SQL, whatever the database.

The text of a statement does not depend on how many rows it is about: a batch is one parameter,
``:batch``, in JSON. Statements named ``lock_…`` pass over rows that somebody else has locked.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import attrs
import sqlalchemy as sa

from pragmatic_ddd.ports.outbox_message import Reservation
from pragmatic_ddd_sqlalchemy.dialects.locked import Locked
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.rows import CLAIMED_COLUMNS, ENTRY_COLUMNS, Row, as_json
from pragmatic_ddd_sqlalchemy.table import index_name

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Statements(Generic[T]):
    """The statements whose use is the same on every database.

    Attributes:
        lock_due: The first due rows without an older hindered one, as ``LockedRow``. Takes
            ``limit``, and ``confirmed``, the token of rows that count as SENT.
        lock_ids: Rows by id that nobody owns and that have not failed.
        unclaimed: The same ids, whether or not somebody has locked them.
        lock_stragglers: Unowned rows that are due later than a younger one of their aggregate;
            ``due_at`` is the time of that one. Takes ``limit``.
        move_due: Sets ``due_at``.
        mark_sent: Fenced. A row that is SENT by the same token already keeps what it has.
        release: Fenced.
        retry_later: Fenced. Takes ``horizon``.
        mark_failed: Fenced.
        lock_newcomers: Among the first ``limit`` due rows, those that wait behind a FAILED one,
            each with its aggregate.
        lock_heads: FAILED rows of aggregates, with these, kept from being replayed or skipped.
        park: Moves the due time of rows by id.
        lock_strays: Rows due later than ``horizon`` from now: the clock has stepped back.
        lock_ahead: Among the first ``limit`` rows yet to be due, those that were stored, or given
            to their owner, later than now: the clock has stepped back by less.
        bring_back: Makes strays due at once; those with an owner after their lease.
        next_due: Seconds until the next row that is not yet due.
        backlog: Counts, and the age of the oldest row in seconds.
        list_failed: Takes ``after_id`` and ``limit``.
        find: Takes ``message_id``.
        lock_dead: FAILED rows by message id; with ``also_skipped`` those in SKIPPED, too.
        replay: Rows by id.
        skip: Rows by id. Takes ``note``.
        lock_parked: Rows of aggregates that nobody owns and that are not yet due.
        find_parked: One of these, whether or not somebody has locked it.
        wake: Makes rows by id due.
        lock_ended: Rows that ended ``older_than`` seconds ago. Takes ``limit``.
        delete: Rows by id.
    """

    lock_due: T
    lock_ids: T
    unclaimed: T
    lock_stragglers: T
    move_due: T
    mark_sent: T
    release: T
    retry_later: T
    mark_failed: T
    lock_newcomers: T
    lock_heads: T
    park: T
    lock_strays: T
    lock_ahead: T
    bring_back: T
    next_due: T
    backlog: T
    list_failed: T
    find: T
    lock_dead: T
    replay: T
    skip: T
    lock_parked: T
    find_parked: T
    wake: T
    lock_ended: T
    delete: T


@attrs.frozen(kw_only=True)
class Inserted:
    """A row that has just been inserted."""

    id: int
    owned: bool


class ICommittingInsert(Protocol):
    """Inserts rows together with the COMMIT, so that an INSERT costs no round trip of its own."""

    @abstractmethod
    def can_commit(self, connection: sa.Connection) -> bool:
        """Say whether that can be done on a connection."""

    @abstractmethod
    def insert_and_commit(
        self,
        connection: sa.Connection,
        rows: Sequence[dict[str, Any]],
        reservation: Reservation | None,
    ) -> dict[str, Inserted]:
        """Do what ``IOutboxDialect.insert`` does, and commit the driver's transaction.

        Raises:
            sqlalchemy.exc.DBAPIError: The rows were refused, and nothing is committed.
            Exception: Of the driver: the commit failed, or nobody knows.
        """


class IOutboxDialect(Protocol):
    """The SQL of one kind of database, for one table.

    Attributes:
        statements: What is the same procedure everywhere.
        isolation_level: What a connection is set to for the outbox' own transactions; ``None``:
            there is only one, or ``opening`` sets it.
        opening: First statement of those; ``None``: there is none.
        settles_beside_claims: Whether two transactions can write at once.
        oldest_server: The oldest server that knows this SQL, for people.
        committing_insert: Inserts rows together with the COMMIT; ``None``: nothing does here.
    """

    @property
    @abstractmethod
    def statements(self) -> Statements[Sql]: ...

    @property
    @abstractmethod
    def isolation_level(self) -> str | None: ...

    @property
    @abstractmethod
    def opening(self) -> Sql | None: ...

    @property
    @abstractmethod
    def settles_beside_claims(self) -> bool: ...

    @property
    @abstractmethod
    def oldest_server(self) -> str: ...

    @property
    @abstractmethod
    def committing_insert(self) -> ICommittingInsert | None: ...

    @abstractmethod
    def serves(self, dialect: sa.Dialect) -> bool:
        """Say whether the server that the dialect has met is new enough for this SQL."""

    @abstractmethod
    def insert(
        self,
        connection: sa.Connection,
        rows: Sequence[dict[str, Any]],
        reservation: Reservation | None,
    ) -> dict[str, Inserted]:
        """Insert rows in the given order, in the open transaction, each owned if it may be.

        Returns:
            By message id: the new row, and whether it was born owned.
        """

    @abstractmethod
    def take(
        self,
        connection: sa.Connection,
        locked: Locked,
        *,
        claim_token: str,
        lease_seconds: float,
        confirmed_token: str,
    ) -> Sequence[Row]:
        """Mark those locked rows that could overtake none: PROCESSING, with a new owner.

        Must be a later statement than the one that has locked them, with a snapshot of its own.
        Rows with the confirmed token count as SENT; without one it is a text that is no token.

        Returns:
            ``CLAIMED_COLUMNS`` of the marked rows, as they are now.
        """

    @abstractmethod
    def park_tails(self, connection: sa.Connection, ids: Sequence[int]) -> None:
        """Move the due time of what waits behind those of the rows that are FAILED.

        Passes over rows that somebody else has locked.
        """


def names_of(table: sa.Table, dialect: sa.Dialect) -> dict[str, str]:
    """Return the table's names, quoted, by the placeholders that stand for them."""
    preparer = dialect.identifier_preparer
    names = {"outbox": preparer.format_table(table)} | {
        suffix: preparer.quote(index_name(table, suffix))
        for suffix in ("due", "unsent", "hindered", "ended", "message_id")
    }
    return {
        "claimed_columns": ", ".join(f"o.{column}" for column in CLAIMED_COLUMNS),
        "entry_columns": ", ".join(f"o.{column}" for column in ENTRY_COLUMNS),
    } | {placeholder: name.replace(":", r"\:") for placeholder, name in names.items()}


def named(text: str, names: Mapping[str, str]) -> Sql:
    """Put names and fragments in the places of their placeholders, such as ``{outbox}``."""
    for placeholder, name in names.items():
        text = text.replace("{" + placeholder + "}", name)
    return Sql(text)


def prepared(texts: Statements[str], names: Mapping[str, str]) -> Statements[Sql]:
    """Do for all statements what ``named`` does for one."""
    fields = attrs.asdict(texts)
    return Statements(**{field: named(text, names) for field, text in fields.items()})


def insert_parameters(
    rows: Sequence[dict[str, Any]], reservation: Reservation | None
) -> dict[str, object]:
    """Return what an INSERT of a whole batch takes."""
    marked = _marked(rows, reservation)
    return {"batch": as_json(marked)} | reserved(reservation)


def _marked(
    rows: Sequence[dict[str, Any]], reservation: Reservation | None
) -> list[dict[str, object]]:
    marks = enumerate(zip(rows, ownable(rows, reservation), strict=True))
    return [row | {"place": place, "ownable": may} for place, (row, may) in marks]


def reserved(reservation: Reservation | None) -> dict[str, object]:
    """Return the parameters that say who owns what is born owned, and for how long."""
    return {
        "claim_token": None if reservation is None else reservation.claim_token,
        "grace": None if reservation is None else reservation.grace.total_seconds(),
    }


def ownable(rows: Sequence[dict[str, Any]], reservation: Reservation | None) -> list[bool]:
    """Say which rows may be born owned, as far as the rows themselves tell.

    Not one without a version, and not one behind such a row of the same aggregate: nobody
    knows whether this transaction holds the aggregate, and the rows keep their order.
    """
    unversioned: set[tuple[str, str]] = set()
    result = []
    for row in rows:
        aggregate = row["aggregate_type"], row["aggregate_id"]
        if row["aggregate_version"] is None:
            unversioned.add(aggregate)
        result.append(reservation is not None and aggregate not in unversioned)
    return result
