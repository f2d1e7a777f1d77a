import copy
import uuid

import attrs
import pytest

from pragmatic_ddd.domain import AggregateRoot, Entity


class Customer(Entity):
    id: str | None = None
    name: str = ""


class KeyCustomer(Customer):
    discount: int = 0


class Order(AggregateRoot, name="shop.order"):
    id: uuid.UUID
    lines: list[str] = attrs.field(factory=list)


def test_entities_are_equal_by_class_and_id() -> None:
    assert Customer(id="1", name="Ada") == Customer(id="1", name="Bob")
    assert Customer(id="1") != Customer(id="2")
    assert Customer(id="1") != KeyCustomer(id="1")
    assert Customer(id="1") != "1"
    assert len({Customer(id="1"), Customer(id="1", name="Ada")}) == 1


def test_an_entity_without_an_id_is_equal_to_itself_only() -> None:
    new = Customer()

    assert new == new  # noqa: PLR0124  # equality is what is tested
    assert new != Customer()
    assert len({new, Customer()}) == 2


def test_fields_are_given_by_keyword_and_may_be_changed() -> None:
    customer = KeyCustomer(id="1", name="Ada", discount=5)
    customer.discount = 6

    assert customer.discount == 6
    with pytest.raises(TypeError):
        Customer("1")  # type: ignore[call-arg]  # the mistake


def test_each_instance_has_its_own_defaults() -> None:
    first, second = Order(id=uuid.uuid4()), Order(id=uuid.uuid4())
    first.lines.append("book")

    assert second.lines == []


def test_an_entity_can_be_copied() -> None:
    order = Order(id=uuid.uuid4(), lines=["book"])

    copied = copy.deepcopy(order)

    assert copied == order
    assert copied.lines is not order.lines
