"""Contract of ``IRepository``: subclass it, provide one fixture, run pytest.

    class TestMine(RepositoryContract):
        @pytest.fixture
        def in_transaction(self) -> InTransaction: ...

``in_transaction(work)`` runs ``work(repository)`` in a transaction of its own, commits it and
returns what ``work`` returns; where that raises, it rolls back and lets the error out. There are
no wallets at first.
"""

import pytest

from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd.errors import ConcurrencyError, OutboxStoreError, UnitOfWorkError
from pragmatic_ddd.testing.repository_locking import RepositoryLocking
from pragmatic_ddd.testing.wallets import (
    InTransaction,
    Wallet,
    Wallets,
    found_wallet,
    insert_wallet,
    remove_wallet,
    save_wallet,
    update_wallet,
)

__all__ = ["InTransaction", "RepositoryContract", "Wallet"]


class PickpocketError(Exception):
    """Something that goes wrong in the middle."""


class RepositoryContract(RepositoryLocking):
    """What every repository promises. Set ``wallet_type`` where yours cannot store ``Wallet``."""

    def test_a_saved_aggregate_is_found_with_its_values(
        self, in_transaction: InTransaction
    ) -> None:
        wallet = self.wallet_type(id="w1", coins=3)
        in_transaction(lambda wallets: wallets.save(wallet))

        found = found_wallet(in_transaction, "w1")
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

        found = found_wallet(in_transaction, "w1")
        assert (found.coins, found.version, wallet.version) == (5, 2, 2)

    def test_what_was_loaded_and_changed_can_be_saved(self, in_transaction: InTransaction) -> None:
        self._stored(in_transaction)

        def spend(wallets: Wallets) -> None:
            wallet = wallets.find_by_id("w1")
            assert wallet is not None
            wallet.coins -= 1
            wallets.update(wallet)

        in_transaction(spend)

        found = found_wallet(in_transaction, "w1")
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
        assert (found_wallet(in_transaction, "w1").coins, wallet.version) == (4, 2)

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
        assert found_wallet(in_transaction, "w1").total == 3

        wallet.notes = 20
        in_transaction(lambda wallets: wallets.update(wallet))
        assert found_wallet(in_transaction, "w1").total == 23

        wallet.coins = 0
        in_transaction(lambda wallets: wallets.save(wallet))
        assert found_wallet(in_transaction, "w1").total == 20

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
        assert found_wallet(in_transaction, "kept").coins == 3

    def test_an_id_is_inserted_once(self, in_transaction: InTransaction) -> None:
        self._stored(in_transaction)

        with pytest.raises((ConcurrencyError, OutboxStoreError)):
            in_transaction(lambda wallets: wallets.insert(self.wallet_type(id="w1", coins=9)))

        assert found_wallet(in_transaction, "w1").coins == 3

    def test_a_removed_aggregate_is_gone_and_its_id_is_free(
        self, in_transaction: InTransaction
    ) -> None:
        in_transaction(remove_wallet(self._stored(in_transaction)))
        assert not in_transaction(lambda wallets: wallets.exists_by_id("w1"))

        in_transaction(lambda wallets: wallets.insert(self.wallet_type(id="w1", coins=9)))
        assert (
            found_wallet(in_transaction, "w1").coins,
            found_wallet(in_transaction, "w1").version,
        ) == (9, 1)

    def test_what_is_new_is_neither_updated_nor_removed(
        self, in_transaction: InTransaction
    ) -> None:
        for write in (update_wallet, remove_wallet):
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
            for write in (insert_wallet, save_wallet, update_wallet, remove_wallet):
                with pytest.raises(TypeError, match=r"aggregate = .*: give a "):
                    in_transaction(write(one))  # type: ignore[arg-type]  # that is the point


class _Purse(AggregateRoot, name="contract.purse"):
    """An aggregate of another type."""
