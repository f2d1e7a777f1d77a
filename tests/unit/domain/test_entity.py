import copy
import datetime as dt
import uuid
from typing import Any

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


NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
ONE = dt.datetime(2026, 3, 1, 13, tzinfo=dt.UTC)


def test_an_entity_carries_no_marks_until_they_are_set() -> None:
    customer = Customer(id="1")

    assert (customer.created_at, customer.created_by) == (None, None)
    assert (customer.updated_at, customer.updated_by) == (None, None)
    assert not customer.is_deleted
    assert vars(customer) == {"id": "1", "name": ""}


def test_who_made_and_who_changed_an_entity_is_noted_with_the_time() -> None:
    customer = Customer(id="1")

    customer.mark_created(NOON, by="ada")
    assert (customer.created_at, customer.created_by) == (NOON, "ada")
    assert (customer.updated_at, customer.updated_by) == (NOON, "ada")

    customer.mark_modified(ONE)
    assert (customer.created_at, customer.created_by) == (NOON, "ada")
    assert (customer.updated_at, customer.updated_by) == (ONE, None)


@pytest.mark.parametrize("instant", [dt.datetime(2026, 3, 1), dt.date(2026, 3, 1), None])  # noqa: DTZ001
def test_an_instant_without_a_zone_is_refused_and_nothing_noted(instant: object) -> None:
    customer = Customer(id="1")
    wrong: Any = instant

    for mark in (customer.mark_created, customer.mark_modified):
        with pytest.raises(ValueError, match="with a time zone"):
            mark(wrong, by="ada")
    assert vars(customer) == {"id": "1", "name": ""}


def test_an_entity_may_count_as_deleted() -> None:
    customer = Customer(id="1")
    customer.mark_deleted()

    assert customer.is_deleted
    assert not Customer(id="2").is_deleted


def test_a_subclass_may_have_its_constructor_take_the_marks() -> None:
    class Archived(Entity):
        created_at: dt.datetime | None = None
        is_deleted: bool = True

    archived = Archived(id="1", created_at=NOON)

    assert (archived.created_at, archived.is_deleted) == (NOON, True)
