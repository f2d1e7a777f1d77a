"""What the runs are about: accounts whose every change raises events."""

import sqlalchemy as sa

from pragmatic_ddd import AggregateRoot, DomainEvent
from tests.acceptance.mapping import aggregate_table, map_aggregate


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
    return aggregate_table(metadata, name, counting="moves")


def map_account(table: sa.Table) -> None:
    map_aggregate(Account, table)
