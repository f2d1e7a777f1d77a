import attrs

from pragmatic_ddd.domain import IValueObject


@attrs.frozen
class Money:
    amount: int


@attrs.frozen
class Tip(Money):
    pass


def test_an_attrs_class_is_a_value_object() -> None:
    assert isinstance(Money(1), IValueObject)
    assert not isinstance(1, IValueObject)


def test_value_objects_are_equal_by_value_and_exact_class() -> None:
    assert Money(1) == Money(1)
    assert Money(1) != Money(2)
    assert Money(1) != Tip(1)
