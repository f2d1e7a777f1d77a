"""Codecs of single values, for whatever stores them: as they are in events."""

import json
from decimal import Decimal

import attrs
import pytest
from hypothesis import given, settings

from pragmatic_ddd import Entity
from pragmatic_ddd_orjson import TextFormat, ValueCodecs
from tests.adapters.orjson.everything import EVENTS, Everything, exact


@attrs.frozen
class Money:
    amount: Decimal
    currency: str


@attrs.frozen
class Sku:
    code: str


CODECS = ValueCodecs()
MONEY = CODECS.codec(Money)
PRICES = CODECS.codec(tuple[Money, ...])


def test_a_value_is_written_by_its_fields_and_read_back() -> None:
    money = Money(Decimal("1.10"), "EUR")

    assert MONEY.to_json(money) == {"amount": "1.10", "currency": "EUR"}
    assert MONEY.from_json({"amount": "1.10", "currency": "EUR"}) == money
    assert PRICES.from_json(PRICES.to_json((money, money))) == (money, money)
    assert PRICES.kind == tuple[Money, ...]


@given(EVENTS)
@settings(max_examples=15, deadline=None, derandomize=True)
def test_something_of_everything_comes_back_through_text(event: Everything) -> None:
    codec = CODECS.codec(Everything)

    back = codec.from_json(json.loads(json.dumps(codec.to_json(event))))

    assert exact(back) == exact(event)


def test_a_class_of_your_own_has_the_text_that_you_give_it() -> None:
    codec = ValueCodecs(text_formats={Sku: TextFormat(lambda sku: sku.code, Sku)}).codec(Sku)

    assert codec.to_json(Sku("a")) == "a"
    assert codec.from_json("a") == Sku("a")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("1.10 EUR", "'1.10 EUR' is of type str, not Money"),
        (Money(Decimal("NaN"), "EUR"), "amount: NaN is no number"),
        (Money(Decimal(1), "\ud800"), r"currency: '\\ud800' has half of a surrogate pair"),
    ],
)
def test_what_cannot_be_written_is_refused_by_its_field(value: Money, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MONEY.to_json(value)
    with pytest.raises(ValueError, match=r"\[1\]"):
        PRICES.to_json((Money(Decimal(1), "EUR"), value))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"amount": 1.1, "currency": "EUR"}, "amount: 1.1 is of type float"),
        ({"amount": "1.10"}, "currency: is missing"),
        ([], r"^\[\] is of type list, not Money$"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_field(raw: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MONEY.from_json(raw)


def test_a_type_that_would_not_come_back_is_refused_when_it_is_asked_for() -> None:
    with pytest.raises(TypeError, match=r"^tuple\[type, \.\.\.\]\[\]: .* is no type"):
        CODECS.codec(tuple[type, ...])
    with pytest.raises(TypeError, match="is an entity: an event holds its id"):
        CODECS.codec(Entity)
