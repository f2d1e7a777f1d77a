"""What the contract of ``IRepository`` stores: wallets."""

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar

from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd.ports import IRepository

T = TypeVar("T")


class Wallet(AggregateRoot, name="contract.wallet"):
    """What the contract stores: an id, two amounts, their sum, a version."""

    coins: int = 0
    notes: int = 0
    total: int = 0

    def trigger_data_sync_hook(self) -> None:
        """Keep the sum that is stored beside its parts."""
        self.total = self.coins + self.notes


Wallets = IRepository[Wallet]


class InTransaction(Protocol):
    """Runs work with a repository in a transaction of its own."""

    def __call__(self, work: Callable[[Wallets], T], /) -> T: ...


class WalletsBinding:
    """Says what is stored.

    Attributes:
        wallet_type: ``Wallet``, or a class derived from it that your adapter can store; its ids
            are text.
    """

    wallet_type: ClassVar[type[Wallet]] = Wallet

    def _stored(self, in_transaction: InTransaction, wallet_id: str = "w1") -> Wallet:
        wallet = self.wallet_type(id=wallet_id, coins=3)
        in_transaction(lambda wallets: wallets.save(wallet))
        return wallet


def insert_wallet(wallet: Wallet) -> Callable[[Wallets], None]:
    """Return the work that inserts a wallet."""
    return lambda wallets: wallets.insert(wallet)


def save_wallet(wallet: Wallet) -> Callable[[Wallets], None]:
    """Return the work that saves a wallet."""
    return lambda wallets: wallets.save(wallet)


def update_wallet(wallet: Wallet) -> Callable[[Wallets], None]:
    """Return the work that updates a wallet."""
    return lambda wallets: wallets.update(wallet)


def remove_wallet(wallet: Wallet) -> Callable[[Wallets], None]:
    """Return the work that removes a wallet."""
    return lambda wallets: wallets.remove(wallet)


def found_wallet(in_transaction: InTransaction, wallet_id: str) -> Wallet:
    """Return an instance of its own each time: each is found in a transaction of its own."""
    found = in_transaction(lambda wallets: wallets.find_by_id(wallet_id))
    assert found is not None
    return found
