import sys
from typing import Any

import pytest

from pragmatic_ddd.domain import (
    IDependency,
    IDomainService,
    domain_service,
    external_dependency,
    intents_in,
)


@external_dependency("exchange rates, from the central bank")
class ExchangeRates(IDependency):
    pass


@domain_service("what an order costs in the customer's currency")
class OrderPricing(IDomainService):
    pass


class CheaperPricing(OrderPricing):
    pass


def test_a_tool_can_list_what_a_module_says_of_its_classes() -> None:
    assert intents_in(sys.modules[__name__]) == {
        ExchangeRates: "exchange rates, from the central bank",
        OrderPricing: "what an order costs in the customer's currency",
    }


def test_what_a_module_only_imports_is_not_its_own() -> None:
    elsewhere = type(sys)("elsewhere")
    vars(elsewhere)["OrderPricing"] = OrderPricing

    assert intents_in(elsewhere) == {}


def test_a_mark_without_words_is_refused() -> None:
    forgotten: Any = OrderPricing
    with pytest.raises(TypeError, match="say in words"):
        domain_service(forgotten)
    with pytest.raises(ValueError, match="is blank"):
        external_dependency(" ")
