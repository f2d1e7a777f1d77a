from typing import Any

import pytest

from pragmatic_ddd.domain import MessageCode

TOO_MANY = MessageCode("shop.order.too-many-lines", "at most {limit} lines, not {count:>3}")


def test_a_text_has_its_parameters_filled_in() -> None:
    assert TOO_MANY.parameters == {"limit", "count"}
    assert TOO_MANY.text({"limit": 2, "count": 3}) == "at most 2 lines, not   3"


def test_a_text_may_have_braces_and_no_parameters() -> None:
    assert MessageCode("a.b", "between {{ and }}").text({}) == "between { and }"


@pytest.mark.parametrize("parameters", [{}, {"limit": 1}, {"limit": 1, "count": 2, "more": 3}])
def test_other_parameters_are_refused(parameters: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=r"too-many-lines takes the parameters \['count', 'limit'"):
        TOO_MANY.text(parameters)


def test_a_parameter_that_does_not_fit_its_place_is_refused_with_the_code() -> None:
    price = MessageCode("shop.price", "costs {amount:.2f}")

    with pytest.raises(ValueError, match=r"shop\.price, 'costs"):
        price.text({"amount": "much"})


@pytest.mark.parametrize("code", ["", "shop order", 7])
def test_a_code_is_a_stable_name(code: object) -> None:
    wrong: Any = code
    with pytest.raises(TypeError, match="of MessageCode"):
        MessageCode(wrong, "text")


@pytest.mark.parametrize("template", ["{}", "{0}", "{order.id}", "{lines[0]}", "{a:{width}}", "{a"])
def test_a_template_has_plain_names_only(template: str) -> None:
    with pytest.raises(ValueError, match=r"template .* of shop\.order"):
        MessageCode("shop.order", template)


def test_a_template_is_text_and_says_something() -> None:
    nothing: Any = None
    with pytest.raises(TypeError, match="give text"):
        MessageCode("shop.order", nothing)
    with pytest.raises(ValueError, match="is blank"):
        MessageCode("shop.order", " ")
