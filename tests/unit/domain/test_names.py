import attrs
import pytest

from pragmatic_ddd.domain.names import LONGEST_NAME, checked_name, is_name


@pytest.mark.parametrize("name", ["a", "shop.order.paid", "Shop-Order_2.x", "a" * LONGEST_NAME])
def test_a_plain_name_is_kept(name: str) -> None:
    assert checked_name(name, "Order") == name


@pytest.mark.parametrize(
    "name",
    ["", " ", "1order", ".order", "shop order", "shöp", "a\n", "a\0", "a" * (LONGEST_NAME + 1)],
)
def test_what_a_database_or_broker_might_not_keep_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match="Order"):
        checked_name(name, "Order")


@pytest.mark.parametrize("name", [None, 5, b"shop.order"])
def test_a_name_is_text(name: object) -> None:
    with pytest.raises(TypeError, match="name"):
        checked_name(name, "Order")


def test_a_field_that_holds_a_name_is_told_with_its_class() -> None:
    @attrs.frozen
    class Topic:
        code: str = attrs.field(validator=is_name)

    assert Topic("shop.orders").code == "shop.orders"
    with pytest.raises(TypeError, match=r"^name 'shop orders' of Topic\.code: a letter, then"):
        Topic("shop orders")
