"""What the runs are about: accounts whose every change raises events."""

import sqlalchemy as sa
from sqlalchemy.orm import registry

from pragmatic_ddd import AggregateRoot, DomainEvent


class Moved(DomainEvent, name="faults.account.moved"):
    """One move.

    Attributes:
        number: Counts the moves of the account, from 1.
        trouble: What the broker is to do when it sees the event first: ``refuse`` it for now,
            ``reject`` it for good, ``drop`` the connection without an answer, or nothing. With
            `` always`` behind it, whenever it sees the event.
    """

    number: int
    trouble: str = ""


class Account(AggregateRoot, name="faults.account"):
    moves: int = 0

    def move(self, *troubles: str) -> None:
        """Raise one event for each of the given troubles."""
        for trouble in troubles:
            self.moves += 1
            self.collect_event(Moved(aggregate_id=self.id, number=self.moves, trouble=trouble))


def account_table(metadata: sa.MetaData, name: str) -> sa.Table:
    return sa.Table(
        name,
        metadata,
        sa.Column("id", sa.String(60), primary_key=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("moves", sa.Integer, nullable=False),
        mysql_engine="InnoDB",
    )


def map_account(table: sa.Table) -> None:
    registry().map_imperatively(Account, table, version_id_col=table.c.version)
