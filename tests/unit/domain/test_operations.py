from collections.abc import Callable
from typing import Any

import pytest

from pragmatic_ddd.domain import (
    AggregateRoot,
    DomainEvent,
    EntityOperation,
    OperationRegistry,
    TriggeredOperations,
)
from pragmatic_ddd.domain.work_unit_state import observe_collection
from pragmatic_ddd.errors import OperationError


class OrderOperations(OperationRegistry):
    PAY = EntityOperation("shop.order.pay", "the customer pays")
    CANCEL = EntityOperation("shop.order.cancel")


class ExpressOperations(OrderOperations):
    HURRY = EntityOperation("shop.order.hurry")


PACK = EntityOperation("shop.order.pack")


class OrderPaid(DomainEvent, name="operations.order.paid"):
    pass


class Order(AggregateRoot, name="operations.order", operations=OrderOperations):
    id: str


class Note(AggregateRoot, name="operations.note"):
    id: str


def a_payment(operation_code: str | None = None) -> OrderPaid:
    return OrderPaid(aggregate_id="1", operation_code=operation_code)


def causes(aggregate: AggregateRoot) -> list[str | None]:
    return [event.operation_code for event in aggregate.triggered_events.drain()]


def test_a_registry_lists_its_operations_and_those_of_its_bases() -> None:
    assert ExpressOperations.operations() == (
        OrderOperations.PAY,
        OrderOperations.CANCEL,
        ExpressOperations.HURRY,
    )
    assert ExpressOperations.find("shop.order.pay") is OrderOperations.PAY
    assert OrderOperations.find("shop.order.hurry") is None


def test_a_code_that_is_there_twice_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Wrong\.AGAIN: the code 'shop.order.pay' is taken"):

        class Wrong(OrderOperations):
            AGAIN = EntityOperation("shop.order.pay", "again")


@pytest.mark.parametrize("code", ["", "pay the order", None])
def test_a_code_is_a_stable_name(code: object) -> None:
    wrong: Any = code
    with pytest.raises(TypeError, match="of EntityOperation"):
        EntityOperation(wrong)


def test_recorded_operations_are_asked_for_by_code_or_as_they_are() -> None:
    operations = TriggeredOperations()
    operations.add(OrderOperations.PAY)
    operations.add("shop.order.cancel")

    assert list(operations) == ["shop.order.pay", "shop.order.cancel"]
    assert len(operations) == 2
    assert operations.has_operation("shop.order.pay")
    assert not operations.has_operation(PACK)
    assert operations.has_all_operations(OrderOperations.PAY, OrderOperations.CANCEL)
    assert not operations.has_all_operations(OrderOperations.PAY, PACK)
    assert operations.has_any_operation(PACK, OrderOperations.PAY)
    assert not operations.has_any_operation(PACK)
    operations.clear()
    assert list(operations) == []
    assert operations.last is None


def test_events_carry_the_operation_recorded_last() -> None:
    order = Order(id="1")
    order.record_operation(OrderOperations.PAY)
    order.collect_event(a_payment())
    order.collect_event(a_payment())
    order.record_operation("shop.order.cancel")
    order.collect_event(a_payment())

    assert causes(order) == ["shop.order.pay", "shop.order.pay", "shop.order.cancel"]


def test_an_operation_that_is_named_for_an_event_comes_before_its_own_and_the_last() -> None:
    order = Order(id="1")
    order.record_operation(OrderOperations.PAY)
    order.collect_event(a_payment("shop.order.cancel"))
    order.collect_event(a_payment("shop.order.cancel"), operation=OrderOperations.PAY)
    order.collect_event(a_payment(), operation="shop.order.cancel")

    assert causes(order) == ["shop.order.cancel", "shop.order.pay", "shop.order.cancel"]


def test_a_deferred_event_carries_what_was_recorded_when_it_was_collected() -> None:
    order = Order(id="1")
    order.record_operation(OrderOperations.PAY)
    order.collect_event_later(a_payment)
    order.collect_event_later(a_payment, operation=OrderOperations.CANCEL)
    order.record_operation(OrderOperations.CANCEL)
    order.collect_event_later(lambda: a_payment("shop.order.pay"))

    assert causes(order) == ["shop.order.pay", "shop.order.cancel", "shop.order.pay"]


def test_an_operation_that_is_not_registered_is_refused() -> None:
    order = Order(id="1")
    refusals: list[Callable[[], None]] = [
        lambda: order.record_operation(PACK),
        lambda: order.collect_event(a_payment(), operation=PACK),
        lambda: order.collect_event(a_payment("shop.order.pack")),
        lambda: order.collect_event_later(a_payment, operation=PACK),
    ]
    for refuse in refusals:
        with pytest.raises(OperationError, match=r"no operation 'shop\.order\.pack'") as refused:
            refuse()
        assert refused.value.aggregate_name == "operations.order"
        assert refused.value.operation_code == "shop.order.pack"
    assert len(order.triggered_operations) == len(order.triggered_events) == 0


def test_an_event_without_a_cause_is_refused_where_there_is_a_registry() -> None:
    order = Order(id="1")

    with pytest.raises(OperationError, match=r"record_operation\(\) first") as refused:
        order.collect_event(a_payment())
    assert refused.value.event_type == "operations.order.paid"
    assert len(order.triggered_events) == 0

    order.collect_event_later(a_payment)
    with pytest.raises(OperationError, match=r"cannot collect operations\.order\.paid"):
        order.triggered_events.drain()


def test_without_a_registry_any_operation_is_taken_and_none_is_needed() -> None:
    note = Note(id="1")
    note.collect_event(a_payment())
    note.record_operation(PACK)
    note.collect_event(a_payment())

    note.collect_event(a_payment("whatever an event was made with"))

    assert causes(note) == [None, "shop.order.pack", "whatever an event was made with"]


@pytest.mark.parametrize("operation", [7, "pack it", ""])
def test_what_is_no_operation_is_refused(operation: object) -> None:
    wrong: Any = operation
    with pytest.raises(TypeError, match="of operation"):
        Note(id="1").record_operation(wrong)


def test_a_subclass_inherits_the_registry_or_has_its_own() -> None:
    class Parcel(Order):
        pass

    class Express(Order, operations=ExpressOperations):
        pass

    assert Parcel.operation_registry is OrderOperations
    assert Express.operation_registry is ExpressOperations


def test_what_is_no_registry_is_refused() -> None:
    wrong: Any = OrderOperations.PAY
    with pytest.raises(TypeError, match="Wrong: give an OperationRegistry class"):

        class Wrong(AggregateRoot, name="wrong", operations=wrong):
            pass


def test_an_instance_that_was_made_without_its_constructor_records_operations() -> None:
    loaded = object.__new__(Order)
    loaded.id = "1"

    loaded.record_operation(OrderOperations.PAY)
    loaded.collect_event(a_payment())

    assert causes(loaded) == ["shop.order.pay"]


def test_an_observer_is_told_before_an_operation() -> None:
    order, seen = Order(id="1"), list[int]()
    observe_collection(order, lambda one: seen.append(len(one.triggered_operations)))

    with pytest.raises(OperationError):
        order.record_operation(PACK)
    order.record_operation(OrderOperations.PAY)

    assert seen == [0]
