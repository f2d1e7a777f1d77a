"""Entity rules; a model of their edits is a plain list of codes."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pragmatic_ddd.domain import EntityRule, MessageCode, RuleItem, RulePosition

CODES = [f"rule.{letter}" for letter in "abcdef"]
MESSAGES = {code: MessageCode(code, code) for code in CODES}
GROWS = MessageCode("rule.grows", "never smaller than before")


def a_rule(code: str, *, holds: bool = False) -> RuleItem[int]:
    return RuleItem(MESSAGES[code], lambda number: holds)


def rules_of(*codes: str) -> EntityRule[int]:
    return EntityRule(*map(a_rule, codes))


def codes_of(rules: EntityRule[int]) -> list[str]:
    return [item.code for item in rules]


def test_all_broken_rules_are_collected_in_order() -> None:
    rules = EntityRule(a_rule("rule.b"), a_rule("rule.a", holds=True), a_rule("rule.c"))

    result = rules.check(1)

    assert [broken.code for broken in result.broken_rules] == ["rule.b", "rule.c"]
    assert not result.fail_fast


def test_a_check_that_fails_fast_stops_at_the_first_broken_rule() -> None:
    asked: list[str] = []

    def ask(name: str, answer: bool) -> RuleItem[int]:
        def check(number: int) -> bool:
            asked.append(name)
            return answer

        return RuleItem(MESSAGES[name], check)

    rules = EntityRule(
        ask("rule.a", True), ask("rule.b", False), ask("rule.c", False), fail_fast=True
    )
    result = rules.check(1)

    assert [broken.code for broken in result.broken_rules] == ["rule.b"]
    assert result.fail_fast
    assert asked == ["rule.a", "rule.b"]


def test_a_condition_switches_rules_off_by_code_and_by_model() -> None:
    rules = EntityRule(
        a_rule("rule.a"),
        a_rule("rule.b"),
        active=lambda message, number: message.code != "rule.a" or number > 5,
    )

    assert [broken.code for broken in rules.check(1).broken_rules] == ["rule.b"]
    assert [broken.code for broken in rules.check(6).broken_rules] == ["rule.a", "rule.b"]


def test_the_old_model_is_asked_for_once_and_only_by_a_rule_over_a_change() -> None:
    asked: list[int] = []

    def old_of(number: int) -> int | None:
        asked.append(number)
        return None

    change = RuleItem[int](GROWS, change=lambda new, old: new >= old)
    again = RuleItem[int](MESSAGES["rule.b"], change=lambda new, old: new >= old)

    assert EntityRule(a_rule("rule.a"), old_of=old_of).check(1).broken_rules
    assert asked == []
    assert EntityRule(change, again, old_of=old_of).check(1).is_satisfied
    assert asked == [1]


def test_a_switched_off_rule_over_a_change_does_not_ask_for_the_old_model() -> None:
    rules = EntityRule(
        RuleItem[int](GROWS, change=lambda new, old: False), active=lambda message, number: False
    )

    assert rules.check(1).is_satisfied


def test_an_old_model_that_the_caller_knows_is_not_asked_for() -> None:
    def old_of(number: int) -> int | None:
        raise AssertionError(number)

    rules = EntityRule(RuleItem[int](GROWS, change=lambda new, old: new >= old), old_of=old_of)

    assert rules.check(2, 1).is_satisfied
    assert not rules.check(1, 2).is_satisfied


def test_a_rule_over_a_change_is_never_passed_over_in_silence() -> None:
    rules = EntityRule(RuleItem[int](GROWS, change=lambda new, old: new >= old))

    with pytest.raises(TypeError, match="needs the old model"):
        rules.check(1)


def test_an_edit_leaves_the_rules_as_they_were() -> None:
    rules = rules_of("rule.a", "rule.b")

    rules.add(a_rule("rule.c"))
    rules.remove("rule.a")

    assert codes_of(rules) == ["rule.a", "rule.b"]
    assert len(rules) == 2


def test_an_edit_keeps_how_rules_are_checked() -> None:
    def old_of(number: int) -> int | None:
        return None

    def active(message: MessageCode, number: int) -> bool:
        return True

    rules = EntityRule[int](fail_fast=True, active=active, old_of=old_of).add(a_rule("rule.a"))

    assert (rules.fail_fast, rules.active, rules.old_of) == (True, active, old_of)


def test_a_rule_is_found_by_its_message_too() -> None:
    assert codes_of(rules_of("rule.a", "rule.b").remove(MESSAGES["rule.a"])) == ["rule.b"]


def test_rules_are_checked_by_many_threads_at_once() -> None:
    rules = EntityRule(
        RuleItem[int](GROWS, change=lambda new, old: new > old), old_of=lambda number: number
    )
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(rules.check, range(200)))

    assert not any(result.is_satisfied for result in results)


def test_what_is_no_rule_is_refused() -> None:
    none: Any = None
    text: Any = "before"
    with pytest.raises(TypeError, match="give a RuleItem"):
        EntityRule(none)
    with pytest.raises(TypeError, match="position = 'before'"):
        rules_of("rule.a").insert(text, "rule.a", a_rule("rule.b"))
    for name in ("active", "old_of"):
        arguments: dict[str, Any] = {name: 1}
        with pytest.raises(TypeError, match=f"{name} = 1: give a function"):
            EntityRule[int](**arguments)


@attrs.frozen
class Edit:
    verb: str
    code: str
    anchor: str


edits = st.builds(
    Edit,
    st.sampled_from(["add", "before", "after", "replace", "remove"]),
    st.sampled_from(CODES),
    st.sampled_from(CODES),
)


def edited(rules: EntityRule[int], edit: Edit) -> EntityRule[int]:
    match edit.verb:
        case "add":
            return rules.add(a_rule(edit.code))
        case "before":
            return rules.insert(RulePosition.BEFORE, edit.anchor, a_rule(edit.code))
        case "after":
            return rules.insert(RulePosition.AFTER, edit.anchor, a_rule(edit.code))
        case "replace":
            return rules.replace(edit.anchor, a_rule(edit.code))
        case _:
            return rules.remove(edit.code)


def edited_list(codes: list[str], edit: Edit) -> list[str]:
    """The same edit of a list of distinct codes; a ValueError where that refuses it."""
    result = list(codes)
    match edit.verb:
        case "add":
            result.append(edit.code)
        case "before":
            result.insert(result.index(edit.anchor), edit.code)
        case "after":
            result.insert(result.index(edit.anchor) + 1, edit.code)
        case "replace":
            result[result.index(edit.anchor)] = edit.code
        case _:
            result.remove(edit.code)
    if len(set(result)) < len(result):
        raise ValueError(edit)
    return result


@given(st.lists(edits, max_size=30))
def test_any_sequence_of_edits_does_what_it_does_to_a_list(sequence: list[Edit]) -> None:
    rules, expected = EntityRule[int](), list[str]()
    for edit in sequence:
        try:
            expected = edited_list(expected, edit)
        except ValueError:
            with pytest.raises(ValueError, match=r"rule"):
                edited(rules, edit)
        else:
            rules = edited(rules, edit)
        assert codes_of(rules) == expected
        assert [broken.code for broken in rules.check(1).broken_rules] == expected
