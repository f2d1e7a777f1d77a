import pytest

from pragmatic_ddd.domain import IEnumValue


class OrderStatus(IEnumValue):
    PLACED = "placed", "ordered", "nothing is paid yet"
    PAID = "paid", "paid"
    SHIPPED = "shipped"


class Priority(IEnumValue):
    LOW = 1, "low"
    HIGH = 2, "high"


def test_a_member_has_a_value_a_name_to_show_and_a_description() -> None:
    status = OrderStatus.PLACED

    assert (status.value, status.display_name) == ("placed", "ordered")
    assert status.description == "nothing is paid yet"


def test_what_is_left_out_is_the_value_and_nothing() -> None:
    assert OrderStatus.SHIPPED.display_name == "shipped"
    assert OrderStatus.SHIPPED.description == OrderStatus.PAID.description == ""


def test_a_member_is_found_by_its_stored_value() -> None:
    assert OrderStatus("paid") is OrderStatus.PAID
    assert Priority(2) is Priority.HIGH
    with pytest.raises(ValueError, match="'gone' is not a valid OrderStatus"):
        OrderStatus("gone")


def test_two_members_with_the_same_value_are_refused() -> None:
    with pytest.raises(ValueError, match="duplicate values"):

        class Wrong(IEnumValue):
            PLACED = "placed", "ordered"
            ORDERED = "placed", "placed"
