"""Contract of ``IUnitOfWork``, the part about registered work, rules and dry runs."""

from typing import Any, ClassVar

import pytest

from pragmatic_ddd.domain import (
    BrokenRuleRegistry,
    EntityRule,
    MessageCode,
    RuleItem,
)
from pragmatic_ddd.errors import (
    BrokenRuleAggregateError,
    BrokenRuleError,
    DomainError,
    UnitOfWorkError,
)
from pragmatic_ddd.testing.accounts import Account, StoredMessages, UnitsOfWork


class AccountRules(BrokenRuleRegistry):
    """What must hold for an account."""

    OVERDRAWN = MessageCode("contract.account.overdrawn", "{balance} is below zero")
    ODD = MessageCode("contract.account.odd", "a balance is even")


ACCOUNT_RULES = EntityRule[Account](
    RuleItem(
        AccountRules.OVERDRAWN,
        lambda account: account.balance >= 0,
        parameters=lambda account: {"balance": account.balance},
    ),
    RuleItem(AccountRules.ODD, lambda account: account.balance % 2 == 0),
)


class AccountClosedError(DomainError):
    """Logic refuses."""


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
            work.register(account, rule=ACCOUNT_RULES, logic=_deposit_4)
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
            work.register(account, logic=_deposit_4)
            work.register(account, rule=ACCOUNT_RULES, logic=_deposit_4)
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
            work.register(self._new_account("a1"), logic=_deposit_and_note)
            work.register(self._new_account("a2"), rule=stops, logic=lambda one: one.deposit(-3))
            with pytest.raises(BrokenRuleError, match="a balance is even"):
                work.commit()

    def test_rules_that_stop_at_the_first_and_hold_keep_nothing_from_being_told(
        self, units_of_work: UnitsOfWork
    ) -> None:
        with units_of_work() as work:
            work.register(self._new_account("a1"), logic=_deposit_and_note)
            work.register(self._new_account("a2"), rule=EntityRule[Account](fail_fast=True))
            work.register(self._new_account("a3"), logic=_deposit_and_note)
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
            work.register(account, logic=_deposit_4)
            work.register(self._new_account("a2"), logic=_refuse)
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
            work.register(account, logic=_refuse)
            with pytest.raises(AccountClosedError):
                work.commit()
        assert account.broken_rules == ()

        with units_of_work() as work:
            work.register(account)
            work.commit()
        assert len(stored_messages()) > 0

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
            work.register(work.get(self.account_type, "a1"), rule=ACCOUNT_RULES, logic=_deposit_4)
            work.register(self._new_account("a2"), logic=_deposit_4)
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
            work.register(account, rule=ACCOUNT_RULES, logic=_deposit_and_note)
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
            work.register(account, rule=ACCOUNT_RULES, logic=_deposit_and_note)
            assert not work.try_commit().is_satisfied

            assert (account.balance, account.version or 0, account.is_new) == (0, 0, True)
            assert len(account.triggered_events) == 1
            assert account.broken_rules == ()
        with units_of_work() as work:
            work.register(account, rule=ACCOUNT_RULES, logic=_deposit_4)
            work.commit()

        assert len(stored_messages()) == 2
        assert self._balance(units_of_work, "a1") == 4

    def test_a_dry_run_of_an_aggregate_that_is_registered_twice_adds_up(
        self, units_of_work: UnitsOfWork
    ) -> None:
        account = self._new_account("a1")
        with units_of_work() as work:
            work.register(account, logic=_deposit_4)
            work.register(account, rule=ACCOUNT_RULES, logic=lambda one: one.deposit(-6))
            result = work.try_commit()

        assert [error.parameters for error in result.broken_rules] == [{"balance": -2}]
        assert account.balance == 0

    def test_a_dry_run_reports_what_logic_refuses(self, units_of_work: UnitsOfWork) -> None:
        with units_of_work() as work:
            work.register(self._new_account("a1"), logic=_refuse)
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
            work.register(account, logic=_deposit_4)
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


def _deposit_4(account: Account) -> None:
    account.deposit(4)


def _deposit_and_note(account: Account) -> None:
    account.record_operation("contract.account.deposit")
    account.deposit(4)
    account.add_broken_rule(AccountRules.ODD)


def _refuse(account: Account) -> None:
    account.deposit(1)
    account.add_broken_rule(AccountRules.ODD)
    raise AccountClosedError(account.id)
