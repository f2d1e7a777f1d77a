from typing import Any

import pytest

from pragmatic_ddd.domain import BrokenRule, MessageCode, RuleCheckResult, RuleItem
from pragmatic_ddd.errors import BrokenRuleAggregateError, BrokenRuleError

POSITIVE = MessageCode("number.positive", "above 0")
SMALL = MessageCode("number.small", "at most {limit}, not {number}")
GROWS = MessageCode("number.grows", "never smaller than before")


def _no_old() -> int | None:
    raise AssertionError("nobody has asked for the old model")


def test_a_rule_that_holds_breaks_nothing() -> None:
    item = RuleItem[int](POSITIVE, lambda number: number > 0)

    assert item.broken_by(1, _no_old) is None
    assert item.broken_by(0, _no_old) == BrokenRule(POSITIVE)


def test_a_rule_gives_the_parameters_of_its_message() -> None:
    item = RuleItem[int](
        SMALL, lambda number: number <= 9, parameters=lambda number: {"limit": 9, "number": number}
    )

    broken = item.broken_by(12, _no_old)

    assert broken is not None
    assert broken.text == "at most 9, not 12"


def test_a_rule_is_not_asked_of_a_model_that_it_is_not_for() -> None:
    item = RuleItem[int](POSITIVE, lambda number: number > 0, when=lambda number: number != -1)

    assert item.broken_by(-1, _no_old) is None
    assert item.broken_by(-2, _no_old) is not None


def test_a_rule_over_a_change_sees_what_was() -> None:
    item = RuleItem[int](GROWS, change=lambda new, old: new >= old)

    assert item.broken_by(2, lambda: 1) is None
    assert item.broken_by(1, lambda: 2) == BrokenRule(GROWS)


def test_a_rule_over_a_change_holds_for_what_is_new() -> None:
    item = RuleItem[int](GROWS, change=lambda new, old: False)

    assert item.broken_by(1, lambda: None) is None


def test_a_rule_over_a_change_that_is_not_asked_does_not_ask_for_what_was() -> None:
    item = RuleItem[int](GROWS, change=lambda new, old: False, when=lambda number: False)

    assert item.broken_by(1, _no_old) is None


def test_a_rule_is_over_the_model_or_over_its_change() -> None:
    with pytest.raises(TypeError, match="either check or change"):
        RuleItem[int](POSITIVE)
    with pytest.raises(TypeError, match="either check or change"):
        RuleItem[int](POSITIVE, lambda number: True, change=lambda new, old: True)


def test_a_message_with_parameters_needs_somebody_to_give_them() -> None:
    with pytest.raises(TypeError, match=r"number\.small: give parameters, for limit, number"):
        RuleItem[int](SMALL, lambda number: True)


@pytest.mark.parametrize("name", ["check", "change", "parameters", "when"])
def test_what_is_no_function_is_refused(name: str) -> None:
    arguments: dict[str, Any] = {"check": lambda number: True} | {name: True}
    with pytest.raises(TypeError, match=rf"{name} = True of rule number\.positive"):
        RuleItem(POSITIVE, **arguments)


def test_what_is_no_message_is_refused() -> None:
    code: Any = "number.positive"
    with pytest.raises(TypeError, match="message"):
        RuleItem[int](code, lambda number: True)


def test_a_result_without_broken_rules_raises_nothing() -> None:
    result = RuleCheckResult()

    assert result.is_satisfied
    assert result.error() is None
    result.raise_if_broken()


def test_a_result_raises_all_broken_rules() -> None:
    result = RuleCheckResult((BrokenRule(POSITIVE), BrokenRule(GROWS)))

    assert not result.is_satisfied
    with pytest.raises(BrokenRuleAggregateError) as refused:
        result.raise_if_broken()
    assert [error.code for error in refused.value] == ["number.positive", "number.grows"]


def test_the_result_of_a_check_that_stops_at_the_first_raises_that_one() -> None:
    result = RuleCheckResult((BrokenRule(POSITIVE),), fail_fast=True)

    with pytest.raises(BrokenRuleError, match=r"above 0 \[number.positive\]"):
        result.raise_if_broken()
