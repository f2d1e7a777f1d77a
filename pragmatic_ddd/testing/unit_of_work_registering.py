"""Contract of ``IUnitOfWork``, the part about registered work, and its rules."""

from typing import Any, ClassVar

import pytest

from pragmatic_ddd.domain import EntityRule
from pragmatic_ddd.errors import BrokenRuleAggregateError, BrokenRuleError, UnitOfWorkError
from pragmatic_ddd.testing.accounts import (
    ACCOUNT_RULES,
    Account,
    AccountClosedError,
    AccountRules,
    StoredMessages,
    UnitsOfWork,
    deposit_4,
    deposit_and_note,
    refuse,
)


class UnitOfWorkRegistering:
    """What every unit of work promises of registered work.

    Attributes:
        account_type: ``Account``, or a class derived from it that your adapter can store; its
            ids are text.
    """

    account_type: ClassVar[type[Account]] = Account

    def test_registered_work_is_done_checked_and_stored(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            account = work.get(self.account_type, "a1")
            work.register(account, rule=ACCOUNT_RULES, logic=deposit_4)
            assert account.balance == 0
            work.commit()

        assert [one.aggregate_version for one in stored_messages()] == [1, 2]
        assert self._balance(units_of_work, "a1") == 4

    def test_a_registered_aggregate_that_is_new_is_stored_without_logic_or_rules(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        with units_of_work() as work:
            work.register(self._new_account("a1"))
            work.commit()

        assert len(stored_messages()) == 1
        assert self._balance(units_of_work, "a1") == 0

    def test_an_aggregate_that_is_registered_twice_is_changed_twice_and_stored_once(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            account = work.get(self.account_type, "a1")
            work.register(account, logic=deposit_4)
            work.register(account, rule=ACCOUNT_RULES, logic=deposit_4)
            work.commit()

        places = [(one.aggregate_version, one.event_index) for one in stored_messages()]
        assert places == [(1, 0), (2, 0), (2, 1)]
        assert self._balance(units_of_work, "a1") == 8

    def test_all_broken_rules_of_all_aggregates_keep_everything_from_being_stored(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            account = work.get(self.account_type, "a1")
            work.register(account, rule=ACCOUNT_RULES, logic=lambda one: one.deposit(-3))
            work.register(
                self._new_account("a2"), rule=ACCOUNT_RULES, logic=lambda one: one.deposit(1)
            )
            with pytest.raises(BrokenRuleAggregateError) as refused:
                work.commit()

            assert len(account.triggered_events) == 0
        codes = [error.code.removeprefix("contract.account.") for error in refused.value]
        assert codes == ["overdrawn", "odd", "odd"]
        assert refused.value.errors[0].parameters == {"balance": -3}
        assert len(stored_messages()) == 1
        assert self._balance(units_of_work, "a1") == 0

    def test_rules_that_stop_at_the_first_raise_that_one(self, units_of_work: UnitsOfWork) -> None:
        with units_of_work() as work:
            work.register(
                self._new_account("a1"),
                rule=EntityRule(*ACCOUNT_RULES, fail_fast=True),
                logic=lambda one: one.deposit(-3),
            )
            with pytest.raises(BrokenRuleError, match=r"-3 is below zero"):
                work.commit()

    def test_of_what_was_noted_and_a_rule_that_stops_at_the_first_the_first_of_all_is_raised(
        self, units_of_work: UnitsOfWork
    ) -> None:
        stops = EntityRule(*ACCOUNT_RULES, fail_fast=True)
        with units_of_work() as work:
            work.register(self._new_account("a1"), logic=deposit_and_note)
            work.register(self._new_account("a2"), rule=stops, logic=lambda one: one.deposit(-3))
            with pytest.raises(BrokenRuleError, match="a balance is even"):
                work.commit()

    def test_rules_that_stop_at_the_first_and_hold_keep_nothing_from_being_told(
        self, units_of_work: UnitsOfWork
    ) -> None:
        with units_of_work() as work:
            work.register(self._new_account("a1"), logic=deposit_and_note)
            work.register(self._new_account("a2"), rule=EntityRule[Account](fail_fast=True))
            work.register(self._new_account("a3"), logic=deposit_and_note)
            with pytest.raises(BrokenRuleAggregateError) as refused:
                work.commit()

        assert len(refused.value.errors) == 2

    def test_a_broken_rule_that_an_aggregate_has_noted_is_refused_once(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        account = self._new_account("a1")
        account.add_broken_rule(AccountRules.OVERDRAWN, balance=-1)
        with units_of_work() as work:
            work.register(account)
            with pytest.raises(BrokenRuleAggregateError, match=r"-1 is below zero"):
                work.commit()
        assert stored_messages() == []

        with units_of_work() as work:
            work.register(account)
            work.commit()
        assert len(stored_messages()) == 1

    def test_a_broken_rule_is_refused_that_was_noted_by_what_is_not_registered(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        account = self._new_account("a1")
        account.add_broken_rule(AccountRules.OVERDRAWN, balance=-1)
        with units_of_work() as work:
            work.add(account)
            with pytest.raises(BrokenRuleAggregateError, match=r"-1 is below zero"):
                work.commit()
        assert stored_messages() == []
        assert account.broken_rules == ()
        with units_of_work() as work:
            work.add(account)
            work.commit()
        with units_of_work() as work:
            loaded = work.get(self.account_type, "a1")
            loaded.deposit(1)
            loaded.add_broken_rule(AccountRules.ODD)
            with pytest.raises(BrokenRuleAggregateError, match="a balance is even"):
                work.commit()
            assert loaded.broken_rules == ()

        assert len(stored_messages()) == 1
        assert self._balance(units_of_work, "a1") == 0

    def test_logic_that_refuses_keeps_everything_from_being_stored(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            account = work.get(self.account_type, "a1")
            work.register(account, logic=deposit_4)
            work.register(self._new_account("a2"), logic=refuse)
            with pytest.raises(AccountClosedError):
                work.commit()

            assert len(account.triggered_events) == 0
        assert len(stored_messages()) == 1
        assert self._balance(units_of_work, "a1") == 0

    def test_what_logic_has_noted_before_it_refuses_is_forgotten(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        account = self._new_account("a1")
        with units_of_work() as work:
            work.register(account, logic=refuse)
            with pytest.raises(AccountClosedError):
                work.commit()
        assert account.broken_rules == ()

        with units_of_work() as work:
            work.register(account)
            work.commit()
        assert len(stored_messages()) > 0

    @pytest.mark.parametrize("ending", ["commit", "try_commit"])
    @pytest.mark.parametrize("nested", ["commit", "try_commit", "register"])
    def test_logic_that_ends_the_unit_of_work_or_registers_more_is_refused(
        self,
        units_of_work: UnitsOfWork,
        stored_messages: StoredMessages,
        ending: str,
        nested: str,
    ) -> None:
        self._open_account(units_of_work, "a1")
        with units_of_work() as work:
            arguments = [self._new_account("a2")] if nested == "register" else []

            def go_on(account: Account) -> None:
                if account.balance == 0:
                    account.deposit(4)
                    getattr(work, nested)(*arguments)

            work.register(work.get(self.account_type, "a1"), logic=go_on)
            with pytest.raises(UnitOfWorkError):
                getattr(work, ending)()

        assert self._balance(units_of_work, "a1") == 0
        assert len(stored_messages()) == 1

    def test_what_cannot_be_registered_is_refused_and_the_work_goes_on(
        self, units_of_work: UnitsOfWork, stored_messages: StoredMessages
    ) -> None:
        wrong: Any = "a1"
        account = self._new_account("a1")
        with units_of_work() as work:
            with pytest.raises(TypeError, match="aggregate = 'a1': give an AggregateRoot"):
                work.register(wrong)
            with pytest.raises(TypeError, match="rule = 'a1': give an IRuleValidator"):
                work.register(account, rule=wrong)
            with pytest.raises(TypeError, match="repository = 'a1': give an IRepository"):
                work.register(account, repository=wrong)
            with pytest.raises(TypeError, match="logic = 'a1': give a function"):
                work.register(account, logic=wrong)
            work.register(account)
            work.commit()

        assert len(stored_messages()) == 1

    def _new_account(self, account_id: str) -> Account:
        account = self.account_type(id=account_id)
        account.open()
        return account

    def _open_account(self, units_of_work: UnitsOfWork, account_id: str) -> None:
        with units_of_work() as work:
            work.add(self._new_account(account_id))
            work.commit()

    def _balance(self, units_of_work: UnitsOfWork, account_id: str) -> int:
        with units_of_work() as work:
            return work.get(self.account_type, account_id).balance
