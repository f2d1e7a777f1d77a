"""Contract of ``IRepository``: subclass it, provide one fixture, run pytest.

    class TestMine(RepositoryContract):
        @pytest.fixture
        def in_transaction(self) -> InTransaction: ...

``in_transaction(work)`` runs ``work(repository)`` in a transaction of its own, commits it and
returns what ``work`` returns; where that raises, it rolls back and lets the error out. There are
no wallets at first.
"""

import threading
from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar

import pytest

from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd.errors import ConcurrencyError, OutboxStoreError, UnitOfWorkError
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


class PickpocketError(Exception):
    """Something that goes wrong in the middle."""


class RepositoryContract:
    """What every repository promises.

    Attributes:
        wallet_type: ``Wallet``, or a class derived from it that your adapter can store; its ids
            are text.
    """

    wallet_type: ClassVar[type[Wallet]] = Wallet

    def test_a_saved_aggregate_is_found_with_its_values(
        self, in_transaction: InTransaction
    ) -> None:
        wallet = self.wallet_type(id="w1", coins=3)
        in_transaction(lambda wallets: wallets.save(wallet))

        found = _found(in_transaction, "w1")
        assert type(found) is self.wallet_type
        assert (found.coins, found.version, found.is_new) == (3, 1, False)
        assert (wallet.version, wallet.is_new) == (1, False)

    def test_what_is_not_there_is_none(self, in_transaction: InTransaction) -> None:
        def look(wallets: Wallets) -> tuple[object, bool, int | None]:
            one = "nobody's"
            return wallets.find_by_id(one), wallets.exists_by_id(one), wallets.current_version(one)

        assert in_transaction(look) == (None, False, None)

    def test_save_inserts_what_is_new_and_updates_what_is_not(
        self, in_transaction: InTransaction
    ) -> None:
        wallet = self._stored(in_transaction)
        wallet.coins = 5
        in_transaction(lambda wallets: wallets.save(wallet))

        found = _found(in_transaction, "w1")
        assert (found.coins, found.version, wallet.version) == (5, 2, 2)

    def test_what_was_loaded_and_changed_can_be_saved(self, in_transaction: InTransaction) -> None:
        self._stored(in_transaction)

        def spend(wallets: Wallets) -> None:
            wallet = wallets.find_by_id("w1")
            assert wallet is not None
            wallet.coins -= 1
            wallets.update(wallet)

        in_transaction(spend)

        found = _found(in_transaction, "w1")
        assert (found.coins, found.version) == (2, 2)

    def test_an_update_raises_the_version_also_when_nothing_changed(
        self, in_transaction: InTransaction
    ) -> None:
        wallet = self._stored(in_transaction)
        in_transaction(lambda wallets: wallets.update(wallet))

        assert wallet.version == 2
        assert in_transaction(lambda wallets: wallets.current_version("w1")) == 2

    def test_two_saves_in_one_transaction_are_two_versions(
        self, in_transaction: InTransaction
    ) -> None:
        wallet = self.wallet_type(id="w1", coins=3)

        def save_twice(wallets: Wallets) -> int | None:
            wallets.save(wallet)
            wallet.coins = 4
            wallets.save(wallet)
            return wallets.current_version("w1")

        assert in_transaction(save_twice) == 2
        assert (_found(in_transaction, "w1").coins, wallet.version) == (4, 2)

    def test_a_transaction_sees_what_it_has_written(self, in_transaction: InTransaction) -> None:
        def write_and_look(wallets: Wallets) -> list[tuple[bool, bool]]:
            wallet = self.wallet_type(id="w1")
            wallets.insert(wallet)
            seen = [(wallets.find_by_id("w1") is not None, wallets.exists_by_id("w1"))]
            wallets.remove(wallet)
            return [*seen, (wallets.find_by_id("w1") is not None, wallets.exists_by_id("w1"))]

        assert in_transaction(write_and_look) == [(True, True), (False, False)]

    def test_the_data_sync_hook_is_called_before_each_write(
        self, in_transaction: InTransaction
    ) -> None:
        wallet = self.wallet_type(id="w1", coins=3)
        in_transaction(lambda wallets: wallets.insert(wallet))
        assert _found(in_transaction, "w1").total == 3

        wallet.notes = 20
        in_transaction(lambda wallets: wallets.update(wallet))
        assert _found(in_transaction, "w1").total == 23

        wallet.coins = 0
        in_transaction(lambda wallets: wallets.save(wallet))
        assert _found(in_transaction, "w1").total == 20

    def test_a_rollback_undoes_every_write(self, in_transaction: InTransaction) -> None:
        kept = self._stored(in_transaction, "kept")
        self._stored(in_transaction, "removed")

        def write_and_fail(wallets: Wallets) -> None:
            wallets.insert(self.wallet_type(id="new"))
            kept.coins = 100
            wallets.update(kept)
            removed = wallets.find_by_id("removed")
            assert removed is not None
            wallets.remove(removed)
            raise PickpocketError

        with pytest.raises(PickpocketError):
            in_transaction(write_and_fail)

        ids = ("new", "kept", "removed")
        assert in_transaction(lambda wallets: [wallets.current_version(one) for one in ids]) == [
            None,
            1,
            1,
        ]
        assert _found(in_transaction, "kept").coins == 3

    def test_who_loaded_an_older_version_writes_nothing(
        self, in_transaction: InTransaction
    ) -> None:
        self._stored(in_transaction)
        fast, *late_ones = (_found(in_transaction, "w1") for _ in range(4))
        fast.coins = 1
        in_transaction(lambda wallets: wallets.save(fast))

        for write, late in zip((_save, _update, _remove), late_ones, strict=True):
            late.coins = 2
            with pytest.raises(ConcurrencyError) as refused:
                in_transaction(write(late))
            assert refused.value.retryable

        found = _found(in_transaction, "w1")
        assert (found.coins, found.version) == (1, 2)

    def test_what_others_removed_is_neither_updated_nor_removed(
        self, in_transaction: InTransaction
    ) -> None:
        self._stored(in_transaction)
        first, *late_ones = (_found(in_transaction, "w1") for _ in range(4))
        in_transaction(_remove(first))

        for write, late in zip((_save, _update, _remove), late_ones, strict=True):
            with pytest.raises(ConcurrencyError):
                in_transaction(write(late))

        assert not in_transaction(lambda wallets: wallets.exists_by_id("w1"))

    def test_of_many_who_save_the_same_version_one_wins(
        self, in_transaction: InTransaction
    ) -> None:
        self._stored(in_transaction)
        racers = [_found(in_transaction, "w1") for _ in range(4)]
        start, outcomes = threading.Barrier(len(racers)), list[bool]()

        def race(number: int) -> None:
            racers[number].coins = number
            start.wait()
            try:
                in_transaction(_save(racers[number]))
            except ConcurrencyError:
                outcomes.append(False)
            else:
                outcomes.append(True)

        threads = [threading.Thread(target=race, args=(one,)) for one in range(len(racers))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert sorted(outcomes) == [False, False, False, True]
        assert _found(in_transaction, "w1").version == 2

    def test_an_id_is_inserted_once(self, in_transaction: InTransaction) -> None:
        self._stored(in_transaction)

        with pytest.raises((ConcurrencyError, OutboxStoreError)):
            in_transaction(lambda wallets: wallets.insert(self.wallet_type(id="w1", coins=9)))

        assert _found(in_transaction, "w1").coins == 3

    def test_a_removed_aggregate_is_gone_and_its_id_is_free(
        self, in_transaction: InTransaction
    ) -> None:
        in_transaction(_remove(self._stored(in_transaction)))
        assert not in_transaction(lambda wallets: wallets.exists_by_id("w1"))

        in_transaction(lambda wallets: wallets.insert(self.wallet_type(id="w1", coins=9)))
        assert (_found(in_transaction, "w1").coins, _found(in_transaction, "w1").version) == (9, 1)

    def test_what_is_new_is_neither_updated_nor_removed(
        self, in_transaction: InTransaction
    ) -> None:
        for write in (_update, _remove):
            with pytest.raises(UnitOfWorkError, match="new"):
                in_transaction(write(self.wallet_type(id="w1")))

        assert not in_transaction(lambda wallets: wallets.exists_by_id("w1"))

    def test_what_is_stored_is_not_inserted_again(self, in_transaction: InTransaction) -> None:
        wallet = self._stored(in_transaction)

        with pytest.raises(UnitOfWorkError, match="stored"):
            in_transaction(lambda wallets: wallets.insert(wallet))

        assert in_transaction(lambda wallets: wallets.current_version("w1")) == 1

    def test_what_is_no_aggregate_of_its_type_is_refused(
        self, in_transaction: InTransaction
    ) -> None:
        wrong: list[object] = ["w1", _Purse(id="p1")]
        for one in wrong:
            for write in (_insert, _save, _update, _remove):
                with pytest.raises(TypeError, match=r"aggregate = .*: give a "):
                    in_transaction(write(one))  # type: ignore[arg-type]  # that is the point

    def _stored(self, in_transaction: InTransaction, wallet_id: str = "w1") -> Wallet:
        wallet = self.wallet_type(id=wallet_id, coins=3)
        in_transaction(lambda wallets: wallets.save(wallet))
        return wallet


class _Purse(AggregateRoot, name="contract.purse"):
    """An aggregate of another type."""


def _insert(wallet: Wallet) -> Callable[[Wallets], None]:
    return lambda wallets: wallets.insert(wallet)


def _save(wallet: Wallet) -> Callable[[Wallets], None]:
    return lambda wallets: wallets.save(wallet)


def _update(wallet: Wallet) -> Callable[[Wallets], None]:
    return lambda wallets: wallets.update(wallet)


def _remove(wallet: Wallet) -> Callable[[Wallets], None]:
    return lambda wallets: wallets.remove(wallet)


def _found(in_transaction: InTransaction, wallet_id: str) -> Wallet:
    """Return an instance of its own each time: each is found in a transaction of its own."""
    found = in_transaction(lambda wallets: wallets.find_by_id(wallet_id))
    assert found is not None
    return found
