"""What the outbox needs of a kind of database: its SQL, and where procedures differ, these."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import attrs
import sqlalchemy as sa

from pragmatic_ddd.ports.outbox_message import Reservation
from pragmatic_ddd_sqlalchemy.dialects.locked import Locked
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.dialects.statements import Statements
from pragmatic_ddd_sqlalchemy.rows import Row


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
