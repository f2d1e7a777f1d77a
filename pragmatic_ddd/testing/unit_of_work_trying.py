"""Contract of ``IUnitOfWork``, the part about dry runs."""

import pytest

from pragmatic_ddd.errors import BrokenRuleAggregateError, UnitOfWorkError
from pragmatic_ddd.testing.accounts import (
    ACCOUNT_RULES,
    AccountClosedError,
    StoredMessages,
    UnitsOfWork,
    deposit_4,
    deposit_and_note,
    refuse,
)
from pragmatic_ddd.testing.unit_of_work_registering import UnitOfWorkRegistering


class UnitOfWorkTrying(UnitOfWorkRegistering):
    """What every unit of work promises of a dry run."""

    def test_a_dry_run_reports_broken_rules_and_stores_nothing(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            account = work.get(self.account_type, "a1")
            work.register(account, rule=ACCOUNT_RULES, logic=lambda one: one.deposit(-3))
            result = work.try_commit()

        assert not result.is_satisfied
        assert [error.parameters for error in result.broken_rules] == [{"balance": -3}, {}]
        assert isinstance(result.refusal, BrokenRuleAggregateError)
        assert len(stored_messages()) == 1
        assert self._balance(units_of_work, "a1") == 0

    def test_a_dry_run_that_finds_nothing_stores_nothing_either(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            work.register(work.get(self.account_type, "a1"), rule=ACCOUNT_RULES, logic=deposit_4)
            work.register(self._new_account("a2"), logic=deposit_4)
            result = work.try_commit()

        assert result.is_satisfied
        assert result.broken_rules == ()
        result.raise_if_refused()
        assert len(stored_messages()) == 1
        assert self._balance(units_of_work, "a1") == 0

    def test_a_dry_run_leaves_a_loaded_aggregate_as_it_was(
        self, units_of_work: UnitsOfWork
    ) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            account = work.get(self.account_type, "a1")
            work.register(account, rule=ACCOUNT_RULES, logic=deposit_and_note)
            assert not work.try_commit().is_satisfied

            assert (account.balance, account.version) == (0, 1)
            assert len(account.triggered_events) == len(account.triggered_operations) == 0
            assert account.broken_rules == ()

    @pytest.mark.parametrize("added", [False, True])
    def test_a_dry_run_leaves_a_new_aggregate_as_it_was_and_it_can_be_stored(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages, *, added: bool
    ) -> None:
        account = self._new_account("a1")
        with units_of_work() as work:
            if added:
                work.add(account)
            work.register(account, rule=ACCOUNT_RULES, logic=deposit_and_note)
            assert not work.try_commit().is_satisfied

            assert (account.balance, account.version or 0, account.is_new) == (0, 0, True)
            assert len(account.triggered_events) == 1
            assert account.broken_rules == ()
        with units_of_work() as work:
            work.register(account, rule=ACCOUNT_RULES, logic=deposit_4)
            work.commit()

        assert len(stored_messages()) == 2
        assert self._balance(units_of_work, "a1") == 4

    def test_a_dry_run_of_an_aggregate_that_is_registered_twice_adds_up(
        self, units_of_work: UnitsOfWork
    ) -> None:
        account = self._new_account("a1")
        with units_of_work() as work:
            work.register(account, logic=deposit_4)
            work.register(account, rule=ACCOUNT_RULES, logic=lambda one: one.deposit(-6))
            result = work.try_commit()

        assert [error.parameters for error in result.broken_rules] == [{"balance": -2}]
        assert account.balance == 0

    def test_a_dry_run_reports_what_logic_refuses(self, units_of_work: UnitsOfWork) -> None:
        with units_of_work() as work:
            work.register(self._new_account("a1"), logic=refuse)
            result = work.try_commit()

        assert isinstance(result.refusal, AccountClosedError)
        assert result.broken_rules == ()
        with pytest.raises(AccountClosedError):
            result.raise_if_refused()

    def test_a_mistake_of_logic_is_no_answer_of_a_dry_run(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            account = work.get(self.account_type, "a1")
            work.register(account, logic=deposit_4)
            work.register(account, logic=lambda _: 1 // 0)
            with pytest.raises(ZeroDivisionError):
                work.try_commit()

            assert (account.balance, len(account.triggered_events)) == (0, 0)
        assert len(stored_messages()) == 1

    def test_a_commit_after_a_dry_run_is_refused(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        with units_of_work() as work:
            work.register(self._new_account("a1"))
            work.try_commit()
            with pytest.raises(UnitOfWorkError):
                work.commit()
            with pytest.raises(UnitOfWorkError):
                work.try_commit()
            with pytest.raises(UnitOfWorkError):
                work.register(self._new_account("a2"))

        assert stored_messages() == []

    def test_a_dry_run_after_a_commit_is_refused(self, units_of_work: UnitsOfWork) -> None:
        with units_of_work() as work:
            work.register(self._new_account("a1"))
            work.commit()
            with pytest.raises(UnitOfWorkError):
                work.try_commit()
