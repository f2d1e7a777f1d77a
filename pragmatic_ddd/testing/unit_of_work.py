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

from pragmatic_ddd.errors import (
    AggregateNotFoundError,
    ConcurrencyError,
    EventSerializationError,
    UnitOfWorkError,
)
from pragmatic_ddd.testing.accounts import Account, StoredMessages, UnitsOfWork
from pragmatic_ddd.testing.unit_of_work_trying import UnitOfWorkTrying


class CustomerLeftError(Exception):
    """Something that goes wrong in the middle."""


class UnitOfWorkContract(UnitOfWorkTrying):
    """What every unit of work promises.

    Attributes:
        units_overlap: Whether two units of work may be open in one thread; a store with a
            single writer has the second one wait.
        encodes_events: Whether an event that cannot be written keeps a commit from happening; not
            so where events are published after it.
    """

    units_overlap: ClassVar[bool] = True
    encodes_events: ClassVar[bool] = True

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

    def test_a_removed_aggregate_is_gone_and_its_events_are_stored_with_a_version_of_their_own(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            account = work.get(self.account_type, "a1")
            account.deposit(5)
            work.register(account, logic=lambda one: one.quote(0.5))
            work.remove(account)
            work.commit()

        places = [(one.aggregate_version, one.event_index) for one in stored_messages()]
        assert places == [(1, 0), (2, 0), (2, 1)]
        with units_of_work() as work, pytest.raises(AggregateNotFoundError):
            work.get(self.account_type, "a1")

    def test_an_aggregate_is_removed_without_an_event_too_and_not_before_the_commit(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            work.remove(work.get(self.account_type, "a1"))
        assert self._balance(units_of_work, "a1") == 0
        with units_of_work() as work:
            work.remove(work.get(self.account_type, "a1"))
            work.commit()

        assert len(stored_messages()) == 1
        with units_of_work() as work, pytest.raises(AggregateNotFoundError):
            work.get(self.account_type, "a1")

    def test_what_is_new_cannot_be_removed_and_the_work_goes_on(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        account = self._new_account("a1")
        wrong: Any = "a1"
        with units_of_work() as work:
            with pytest.raises(UnitOfWorkError, match="'a1' is new: there is nothing to remove"):
                work.remove(account)
            with pytest.raises(TypeError, match="aggregate = 'a1': give an AggregateRoot"):
                work.remove(wrong)
            work.add(account)
            work.commit()
            with pytest.raises(UnitOfWorkError, match="has ended"):
                work.remove(account)

        assert len(stored_messages()) == 1

    def test_who_removes_what_was_changed_in_between_is_told_and_removes_nothing(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        if not self.units_overlap:
            pytest.skip("this store has one writer: the second unit of work waits for the first")
        self._open_account(units_of_work, "a1")
        with units_of_work() as second:
            late = second.get(self.account_type, "a1")
            with units_of_work() as first:
                first.get(self.account_type, "a1").deposit(1)
                first.commit()
            late.quote(0.5)
            second.remove(late)
            with pytest.raises(ConcurrencyError):
                second.commit()

        assert len(stored_messages()) == 2
        assert self._balance(units_of_work, "a1") == 1

    def test_without_a_commit_nothing_is_stored(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            work.get(self.account_type, "a1").deposit(5)
            work.add(self._new_account("a2"))

        assert len(stored_messages()) == 1
        assert self._balance(units_of_work, "a1") == 0
        with units_of_work() as work, pytest.raises(AggregateNotFoundError):
            work.get(self.account_type, "a2")

    def test_an_exception_rolls_back_and_is_not_hidden(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        with pytest.raises(CustomerLeftError):
            self._deposit_and_fail(units_of_work, "a1")

        assert len(stored_messages()) == 1
        assert self._balance(units_of_work, "a1") == 0

    def test_a_rollback_drops_the_events_of_a_loaded_aggregate(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            account = work.get(self.account_type, "a1")
            account.deposit(5)
            work.rollback()

            assert len(account.triggered_events) == 0
        assert len(stored_messages()) == 1

    def test_a_new_aggregate_survives_a_rollback_and_is_stored_once(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        account = self._new_account("a1")
        with units_of_work() as work:
            work.add(account)
            work.rollback()
        with units_of_work() as work:
            work.add(account)
            work.commit()

        assert [one.event_type for one in stored_messages()] == ["contract.account.opened"]

    def test_a_new_aggregate_survives_a_failed_commit_and_is_stored_once(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._skip_unless_encoding()
        account, unlucky = self._new_account("a1"), self._new_account("a2")
        unlucky.quote(float("nan"))
        with units_of_work() as work:
            work.add(account)
            work.add(unlucky)
            with pytest.raises(EventSerializationError):
                work.commit()
        assert stored_messages() == []

        assert account.is_new
        with units_of_work() as work:
            work.add(account)
            work.commit()

        [message] = stored_messages()
        assert (message.aggregate_id, message.aggregate_version) == ("a1", 1)

    def test_an_event_that_cannot_be_written_keeps_its_change_from_being_stored(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._skip_unless_encoding()
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            account = work.get(self.account_type, "a1")
            account.deposit(5)
            account.quote(float("nan"))
            with pytest.raises(EventSerializationError):
                work.commit()

            assert len(account.triggered_events) == 0
        assert len(stored_messages()) == 1
        assert self._balance(units_of_work, "a1") == 0

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

    def test_a_second_commit_is_refused(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        with units_of_work() as work:
            work.add(self._new_account("a1"))
            work.commit()
            with pytest.raises(UnitOfWorkError):
                work.commit()

        assert len(stored_messages()) == 1

    def test_a_commit_after_a_rollback_is_refused(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        with units_of_work() as work:
            work.add(self._new_account("a1"))
            work.rollback()
            with pytest.raises(UnitOfWorkError):
                work.commit()

        assert stored_messages() == []

    def test_a_commit_after_the_end_of_the_block_is_refused(
        self, units_of_work: UnitsOfWork
    ) -> None:
        with units_of_work() as work:
            pass
        with pytest.raises(UnitOfWorkError):
            work.commit()

    def test_a_rollback_after_the_commit_changes_nothing(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        with units_of_work() as work:
            work.add(self._new_account("a1"))
            work.commit()
            work.rollback()

        assert len(stored_messages()) == 1
        assert self._balance(units_of_work, "a1") == 0

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

    def test_who_comes_second_is_told_and_stores_nothing(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
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
            with pytest.raises(ConcurrencyError):
                second.commit()

        assert [one.aggregate_version for one in stored_messages()] == [1, 2]
        assert self._balance(units_of_work, "a1") == 1

    def _skip_unless_encoding(self) -> None:
        if not self.encodes_events:
            pytest.skip("this unit of work encodes no events before its commit")

    def _deposit_and_fail(self, units_of_work: UnitsOfWork, account_id: str) -> None:
        with units_of_work() as work:
            work.get(self.account_type, account_id).deposit(5)
            raise CustomerLeftError


def _round_up(account: Account) -> None:
    account.balance = max(10, -(-account.balance // 10) * 10)
