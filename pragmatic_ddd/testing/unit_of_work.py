"""Contract of ``IUnitOfWork``: subclass it, provide two fixtures, run pytest.

    class TestMine(UnitOfWorkContract):
        @pytest.fixture
        def units_of_work(self) -> Callable[[], IUnitOfWork]: ...

        @pytest.fixture
        def stored_messages(self) -> Callable[[], Sequence[OutboxMessage]]: ...

The outbox is empty at first, and there are no accounts.
"""

from typing import Any, ClassVar

import pytest

from pragmatic_ddd.errors import AggregateNotFoundError, ConcurrencyError
from pragmatic_ddd.testing.accounts import Account, StoredMessages, UnitsOfWork
from pragmatic_ddd.testing.unit_of_work_removing import UnitOfWorkRemoving


class UnitOfWorkContract(UnitOfWorkRemoving):
    """What every unit of work promises.

    Set ``units_overlap`` or ``encodes_events`` to False where yours does not; the tests that need
    it are skipped, with the reason.

    Attributes:
        units_overlap: Whether two units of work may be open in one thread; a store with a
            single writer has the second one wait.
    """

    units_overlap: ClassVar[bool] = True

    def test_a_commit_stores_the_aggregate_and_its_events(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")

        [message] = stored_messages()
        assert (message.aggregate_type, message.aggregate_id) == ("contract.account", "a1")
        assert message.event_type == "contract.account.opened"
        assert self._balance(units_of_work, "a1") == 0

    def test_committed_events_leave_their_aggregate(self, units_of_work: UnitsOfWork) -> None:
        account = self._new_account("a1")
        with units_of_work() as work:
            work.add(account)
            work.commit()

            assert len(account.triggered_events) == 0

    def test_events_of_one_change_share_its_version_and_are_numbered(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        for amounts in [(5, 6), (7,)]:
            with units_of_work() as work:
                account = work.get(self.account_type, "a1")
                for amount in amounts:
                    account.deposit(amount)
                work.commit()

        places = [(one.aggregate_version, one.event_index) for one in stored_messages()]
        assert places == [(1, 0), (2, 0), (2, 1), (3, 0)]
        assert self._balance(units_of_work, "a1") == 18

    def test_an_event_without_a_change_raises_the_version_too(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        for _ in range(2):
            with units_of_work() as work:
                work.get(self.account_type, "a1").quote(0.5)
                work.commit()

        assert [one.aggregate_version for one in stored_messages()] == [1, 2, 3]

    def test_a_change_without_an_event_is_stored_of_a_loaded_aggregate_that_is_added(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            account = work.get(self.account_type, "a1")
            account.balance = 7
            work.add(account)
            work.commit()

        assert self._balance(units_of_work, "a1") == 7
        assert len(stored_messages()) == 1

    def test_the_data_sync_hook_is_called_before_an_aggregate_is_stored(
        self, units_of_work: UnitsOfWork, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(self.account_type, "trigger_data_sync_hook", _round_up)
        self._open_account(units_of_work, "a1")
        assert self._balance(units_of_work, "a1") == 10
        with units_of_work() as work:
            work.get(self.account_type, "a1").deposit(5)
            work.commit()

        assert self._balance(units_of_work, "a1") == 20

    def test_an_unknown_aggregate_is_an_error_after_which_the_work_goes_on(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        with units_of_work() as work:
            with pytest.raises(AggregateNotFoundError) as refused:
                work.get(self.account_type, "a1")
            work.add(self._new_account("a1"))
            work.commit()

        assert (refused.value.aggregate_name, refused.value.aggregate_id) == (
            "contract.account",
            "a1",
        )
        assert len(stored_messages()) == 1

    def test_what_is_no_aggregate_is_refused_and_the_work_goes_on(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        swapped: Any = "a1"
        no_aggregates: Any = object
        with units_of_work() as work:
            with pytest.raises(TypeError, match="aggregate_type = 'a1': give a class"):
                work.get(swapped, self.account_type)
            with pytest.raises(TypeError, match="aggregate_type = <class object>: give a class"):
                work.get(no_aggregates, "a1")
            with pytest.raises(TypeError, match="aggregate = 'a1': give an AggregateRoot"):
                work.add(swapped)
            work.get(self.account_type, "a1").deposit(5)
            work.commit()

        assert len(stored_messages()) == 2

    def test_an_aggregate_is_the_same_instance_each_time(self, units_of_work: UnitsOfWork) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            account = work.get(self.account_type, "a1")

            assert work.get(self.account_type, "a1") is account

    def test_an_aggregate_that_was_added_is_found_before_it_is_stored(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        account = self._new_account("a1")
        with units_of_work() as work:
            work.add(account)
            assert work.get(self.account_type, "a1") is account
            work.rollback()

            assert len(account.triggered_events) == 1
        assert stored_messages() == []

    @pytest.mark.parametrize("removes", [False, True])
    def test_who_comes_second_is_told_and_stores_or_removes_nothing(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages, *, removes: bool
    ) -> None:
        if not self.units_overlap:
            pytest.skip("this store has one writer: the second unit of work waits for the first")
        self._open_account(units_of_work, "a1")
        with units_of_work() as second:
            late = second.get(self.account_type, "a1")
            with units_of_work() as first:
                first.get(self.account_type, "a1").deposit(1)
                first.commit()
            late.deposit(10)
            if removes:
                second.remove(late)
            with pytest.raises(ConcurrencyError):
                second.commit()

        assert [one.aggregate_version for one in stored_messages()] == [1, 2]
        assert self._balance(units_of_work, "a1") == 1


def _round_up(account: Account) -> None:
    account.balance = max(10, -(-account.balance // 10) * 10)
