"""Contract of ``IUnitOfWork``, the part about removing aggregates."""

from typing import Any

import pytest

from pragmatic_ddd.errors import AggregateNotFoundError, UnitOfWorkError
from pragmatic_ddd.testing.accounts import StoredMessages, UnitsOfWork
from pragmatic_ddd.testing.unit_of_work_ending import UnitOfWorkEnding


class UnitOfWorkRemoving(UnitOfWorkEnding):
    """What every unit of work promises of an aggregate that is removed."""

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
