"""Contract of ``IUnitOfWork``, the part about its end: rollbacks, errors, and commits in vain."""

from typing import ClassVar

import pytest

from pragmatic_ddd.errors import AggregateNotFoundError, EventSerializationError, UnitOfWorkError
from pragmatic_ddd.testing.accounts import StoredMessages, UnitsOfWork
from pragmatic_ddd.testing.unit_of_work_trying import UnitOfWorkTrying


class CustomerLeftError(Exception):
    """Something that goes wrong in the middle."""


class UnitOfWorkEnding(UnitOfWorkTrying):
    """What every unit of work promises of what is not committed.

    Attributes:
        encodes_events: Whether an event that cannot be written keeps a commit from happening; not
            so where events are published after it.
    """

    encodes_events: ClassVar[bool] = True

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

    @pytest.mark.parametrize(("ending", "stored"), [("commit", 1), ("rollback", 0)])
    def test_a_commit_after_the_end_is_refused(
        self,
        units_of_work: UnitsOfWork,
        stored_messages: StoredMessages,
        ending: str,
        stored: int,
    ) -> None:
        with units_of_work() as work:
            work.add(self._new_account("a1"))
            getattr(work, ending)()
            with pytest.raises(UnitOfWorkError):
                work.commit()

        assert len(stored_messages()) == stored

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

    def _skip_unless_encoding(self) -> None:
        if not self.encodes_events:
            pytest.skip("this unit of work encodes no events before its commit")

    def _deposit_and_fail(self, units_of_work: UnitsOfWork, account_id: str) -> None:
        with units_of_work() as work:
            work.get(self.account_type, account_id).deposit(5)
            raise CustomerLeftError
