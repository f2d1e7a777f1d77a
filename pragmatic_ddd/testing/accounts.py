"""What the contract of ``IUnitOfWork`` stores: accounts."""

from collections.abc import Callable, Sequence

from pragmatic_ddd.domain import (
    AggregateRoot,
    BrokenRuleRegistry,
    DomainEvent,
    EntityRule,
    MessageCode,
    RuleItem,
)
from pragmatic_ddd.errors import DomainError
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


class AccountRules(BrokenRuleRegistry):
    """What must hold for an account."""

    OVERDRAWN = MessageCode("contract.account.overdrawn", "{balance} is below zero")
    ODD = MessageCode("contract.account.odd", "a balance is even")


ACCOUNT_RULES = EntityRule[Account](
    RuleItem(
        AccountRules.OVERDRAWN,
        lambda account: account.balance >= 0,
        parameters=lambda account: {"balance": account.balance},
    ),
    RuleItem(AccountRules.ODD, lambda account: account.balance % 2 == 0),
)


class AccountClosedError(DomainError):
    """Logic refuses."""


def deposit_4(account: Account) -> None:
    """Logic that changes an account and raises an event."""
    account.deposit(4)


def deposit_and_note(account: Account) -> None:
    """Logic that leaves a trace of each kind, a broken rule among them."""
    account.record_operation("contract.account.deposit")
    account.deposit(4)
    account.add_broken_rule(AccountRules.ODD)


def refuse(account: Account) -> None:
    """Logic that has changed something when it refuses."""
    account.deposit(1)
    account.add_broken_rule(AccountRules.ODD)
    raise AccountClosedError(account.id)
