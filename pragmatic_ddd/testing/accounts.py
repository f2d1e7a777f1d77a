"""What the contract of ``IUnitOfWork`` stores: accounts."""

from collections.abc import Callable, Sequence

from pragmatic_ddd.domain import AggregateRoot, DomainEvent
from pragmatic_ddd.ports import IUnitOfWork, OutboxMessage

UnitsOfWork = Callable[[], IUnitOfWork]
StoredMessages = Callable[[], Sequence[OutboxMessage]]


class AccountOpened(DomainEvent, name="contract.account.opened"):
    """An account was opened."""


class MoneyDeposited(DomainEvent, name="contract.account.money_deposited"):
    """Money came in."""

    amount: int


class RateQuoted(DomainEvent, name="contract.account.rate_quoted"):
    """A customer asked for a rate; the account stays as it is."""

    rate: float


class Account(AggregateRoot, name="contract.account"):
    """What the contract stores: an id, a balance, a version."""

    balance: int = 0

    def open(self) -> None:
        """Open it."""
        self.collect_event(AccountOpened(aggregate_id=str(self.id)))

    def deposit(self, amount: int) -> None:
        """Put money in."""
        self.balance += amount
        self.collect_event(MoneyDeposited(aggregate_id=str(self.id), amount=amount))

    def quote(self, rate: float) -> None:
        """Raise an event without changing anything."""
        self.collect_event(RateQuoted(aggregate_id=str(self.id), rate=rate))
