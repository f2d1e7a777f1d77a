import copy
import pickle
from typing import Any

import pytest

from pragmatic_ddd.domain import BrokenRule, BrokenRuleRegistry, MessageCode
from pragmatic_ddd.errors import BrokenRuleAggregateError, BrokenRuleError, DomainError


class OrderRules(BrokenRuleRegistry):
    NO_LINES = MessageCode("shop.order.no-lines", "an order has at least one line")
    TOO_MANY = MessageCode("shop.order.too-many-lines", "at most {limit} lines")


class ExpressRules(OrderRules):
    TOO_HEAVY = MessageCode("shop.express.too-heavy", "at most 5 kg")


def test_a_registry_lists_its_messages_and_those_of_its_bases() -> None:
    assert OrderRules.messages() == (OrderRules.NO_LINES, OrderRules.TOO_MANY)
    assert ExpressRules.messages() == (*OrderRules.messages(), ExpressRules.TOO_HEAVY)
    assert BrokenRuleRegistry.messages() == ()


def test_a_message_is_found_by_its_code() -> None:
    assert ExpressRules.find("shop.order.no-lines") is OrderRules.NO_LINES
    assert OrderRules.find("shop.express.too-heavy") is None


def test_a_subclass_may_reword_a_message() -> None:
    class Reworded(OrderRules):
        NO_LINES = MessageCode("shop.order.no-lines", "order something")

    assert Reworded.find("shop.order.no-lines") == Reworded.NO_LINES
    assert OrderRules.NO_LINES.template == "an order has at least one line"


def test_a_code_that_is_there_twice_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Wrong\.AGAIN: the code 'shop.order.no-lines' is taken"):

        class Wrong(OrderRules):
            AGAIN = MessageCode("shop.order.no-lines", "again")


def test_a_broken_rule_says_so_with_its_parameters() -> None:
    broken = BrokenRule(OrderRules.TOO_MANY, {"limit": 9})

    assert (broken.code, broken.text) == ("shop.order.too-many-lines", "at most 9 lines")
    assert broken == BrokenRule(OrderRules.TOO_MANY, {"limit": 9})
    assert broken != BrokenRule(OrderRules.TOO_MANY, {"limit": 8})
    assert hash(broken) == hash(copy.deepcopy(broken))


def test_a_broken_rule_keeps_its_parameters_when_the_given_ones_change() -> None:
    given: dict[str, object] = {"limit": 9}
    broken = BrokenRule(OrderRules.TOO_MANY, given)
    given["limit"] = 8

    assert broken.parameters == {"limit": 9}


def test_a_broken_rule_with_other_parameters_is_refused() -> None:
    no_message: Any = "shop.order.no-lines"
    with pytest.raises(TypeError, match="takes the parameters"):
        BrokenRule(OrderRules.TOO_MANY, {})
    with pytest.raises(TypeError, match="give a MessageCode"):
        BrokenRule(no_message)


def test_the_error_of_a_broken_rule_carries_its_data() -> None:
    error = BrokenRule(OrderRules.TOO_MANY, {"limit": 9}).error()

    assert isinstance(error, DomainError)
    assert (error.code, error.parameters) == ("shop.order.too-many-lines", {"limit": 9})
    assert str(error) == "at most 9 lines [shop.order.too-many-lines]"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_the_error_of_many_broken_rules_is_a_list_of_errors() -> None:
    errors = [BrokenRule(OrderRules.NO_LINES).error(), BrokenRuleError("a.b", "more", {})]

    error = BrokenRuleAggregateError(errors)

    assert list(error) == errors
    assert len(error) == 2
    assert str(error) == "an order has at least one line [shop.order.no-lines]; more [a.b]"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
