"""Contract of ``IRepository``, the part about those who come second."""

import threading

import pytest

from pragmatic_ddd.errors import ConcurrencyError
from pragmatic_ddd.testing.wallets import (
    InTransaction,
    WalletsBinding,
    found_wallet,
    remove_wallet,
    save_wallet,
    update_wallet,
)


class RepositoryLocking(WalletsBinding):
    """What every repository promises of an aggregate that somebody else has changed."""

    def test_who_loaded_an_older_version_writes_nothing(
        self, in_transaction: InTransaction
    ) -> None:
        self._stored(in_transaction)
        fast, *late_ones = (found_wallet(in_transaction, "w1") for _ in range(4))
        fast.coins = 1
        in_transaction(lambda wallets: wallets.save(fast))

        for write, late in zip((save_wallet, update_wallet, remove_wallet), late_ones, strict=True):
            late.coins = 2
            with pytest.raises(ConcurrencyError) as refused:
                in_transaction(write(late))
            assert refused.value.retryable

        found = found_wallet(in_transaction, "w1")
        assert (found.coins, found.version) == (1, 2)

    def test_what_others_removed_is_neither_updated_nor_removed(
        self, in_transaction: InTransaction
    ) -> None:
        self._stored(in_transaction)
        first, *late_ones = (found_wallet(in_transaction, "w1") for _ in range(4))
        in_transaction(remove_wallet(first))

        for write, late in zip((save_wallet, update_wallet, remove_wallet), late_ones, strict=True):
            with pytest.raises(ConcurrencyError):
                in_transaction(write(late))

        assert not in_transaction(lambda wallets: wallets.exists_by_id("w1"))

    def test_of_many_who_save_the_same_version_one_wins(
        self, in_transaction: InTransaction
    ) -> None:
        self._stored(in_transaction)
        racers = [found_wallet(in_transaction, "w1") for _ in range(4)]
        start, outcomes = threading.Barrier(len(racers)), list[bool]()

        def race(number: int) -> None:
            racers[number].coins = number
            start.wait()
            try:
                in_transaction(save_wallet(racers[number]))
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
        assert found_wallet(in_transaction, "w1").version == 2
