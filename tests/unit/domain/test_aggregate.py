import gc
import uuid
import weakref
from decimal import Decimal
from typing import Any

import pytest

from pragmatic_ddd.domain import AggregateRoot, DomainEvent, MessageCode
from pragmatic_ddd.domain.work_unit_state import observe_collection
from pragmatic_ddd.errors import ForeignEventError


class OrderPaid(DomainEvent, name="shop.order.paid"):
    total: Decimal = Decimal(1)


class Order(AggregateRoot, name="shop.order"):
    paid: bool = False


class ExpressOrder(Order):
    pass


class Nameless(AggregateRoot):
    pass


def a_payment(of: str = "1") -> OrderPaid:
    return OrderPaid(aggregate_id=of)


def events_of(order: AggregateRoot) -> list[DomainEvent]:
    return order.triggered_events.drain()


def test_a_name_is_inherited_by_subclasses() -> None:
    assert Order.aggregate_name == ExpressOrder.aggregate_name == "shop.order"
    assert Nameless.aggregate_name == ""


def test_a_name_must_be_fit_to_be_stored() -> None:
    with pytest.raises(TypeError, match="Wrong"):

        class Wrong(AggregateRoot, name="shop order"):
            pass


def test_events_are_collected_in_order() -> None:
    order = Order(id="1")
    first, second = a_payment(), a_payment()

    order.collect_event(first)
    order.collect_event(second)

    assert len(order.triggered_events) == 2
    assert events_of(order) == [first, second]
    assert events_of(order) == []


def test_an_event_notes_the_operation_that_caused_it() -> None:
    order = Order(id="1")

    order.collect_event(a_payment(), operation="pay-by-card")

    assert [event.operation_code for event in events_of(order)] == ["pay-by-card"]


@pytest.mark.parametrize("identity", [7, uuid.UUID(int=7), "7"])
def test_an_id_of_another_type_is_compared_as_text(identity: object) -> None:
    order = Order(id=identity)

    order.collect_event(a_payment(of=str(identity)))

    assert len(order.triggered_events) == 1


@pytest.mark.parametrize("identity", ["2", None, 11])
def test_an_event_of_another_aggregate_is_refused(identity: object) -> None:
    order = Order(id=identity)

    with pytest.raises(ForeignEventError) as refusal:
        order.collect_event(a_payment(of="1"))

    assert refusal.value.aggregate_name == "shop.order"
    assert refusal.value.event_aggregate_id == "1"
    assert "shop.order.paid" in str(refusal.value)
    assert len(order.triggered_events) == 0


def test_an_event_that_is_raised_before_the_id_is_given_is_refused_with_the_way_out() -> None:
    order = Order(id=None)

    with pytest.raises(ForeignEventError, match=r"collect_event_later\(\)"):
        order.collect_event(a_payment(of=str(order.id)))
    assert len(order.triggered_events) == 0


def test_what_is_no_event_is_refused() -> None:
    order = Order(id="1")

    with pytest.raises(TypeError, match="no DomainEvent"):
        order.collect_event("paid")  # type: ignore[arg-type]  # the mistake
    assert len(order.triggered_events) == 0


def test_an_aggregate_without_a_name_raises_no_events() -> None:
    nameless = Nameless(id="1")

    with pytest.raises(TypeError, match="has no name"):
        nameless.collect_event(a_payment())
    with pytest.raises(TypeError, match="has no name"):
        nameless.collect_event_later(a_payment)


def test_a_deferred_event_is_built_when_it_is_drained() -> None:
    order = Order(id=None)
    order.collect_event_later(lambda: a_payment(of=str(order.id)))
    order.id = 42

    [event] = events_of(order)

    assert event.aggregate_id == "42"


def test_a_deferred_event_of_another_aggregate_is_refused_and_kept() -> None:
    order = Order(id="1")
    order.collect_event_later(lambda: a_payment(of="2"))

    with pytest.raises(ForeignEventError):
        events_of(order)
    assert len(order.triggered_events) == 1


def test_an_instance_that_was_made_without_its_constructor_collects_events() -> None:
    loaded = object.__new__(Order)
    loaded.id = "1"

    loaded.collect_event(a_payment())

    assert len(loaded.triggered_events) == 1


def test_an_aggregate_is_new_until_it_has_a_version() -> None:
    order = Order(id="1")
    assert order.is_new

    order.version = 1

    assert not order.is_new


def test_an_observer_is_told_before_each_event() -> None:
    order = Order(id="1")
    seen: list[tuple[AggregateRoot, int]] = []
    observe_collection(order, lambda one: seen.append((one, len(one.triggered_events))))

    order.collect_event(a_payment())
    order.collect_event_later(a_payment)
    with pytest.raises(ForeignEventError):
        order.collect_event(a_payment(of="2"))
    observe_collection(order, None)
    order.collect_event(a_payment())

    assert seen == [(order, 0), (order, 1)]


def test_an_aggregate_with_events_can_be_forgotten() -> None:
    order = Order(id="1")
    order.collect_event(a_payment())
    forgotten = weakref.ref(order)

    del order
    gc.collect()

    assert forgotten() is None


def test_a_subclass_may_narrow_its_id() -> None:
    class Invoice(AggregateRoot, name="shop.invoice"):
        id: int

    arguments: dict[str, Any] = {}
    with pytest.raises(TypeError, match="id"):
        Invoice(**arguments)
    assert Invoice(id=5).id == 5


def test_an_aggregate_that_was_loaded_without_a_version_is_not_new() -> None:
    loaded = object.__new__(Order)

    assert not loaded.is_new


TOO_LATE = MessageCode("shop.order.too-late", "not after {hour} o'clock")


def test_an_aggregate_knows_the_version_it_has_and_the_one_that_it_will_be_stored_with() -> None:
    order = Order(id="1")
    assert (order.old_version, order.new_version) == (0, 1)

    order.version = 4

    assert (order.old_version, order.new_version) == (4, 5)


def test_an_aggregate_that_was_loaded_without_a_version_has_none() -> None:
    loaded = object.__new__(Order)

    assert (loaded.old_version, loaded.new_version) == (0, 0)


def test_an_aggregate_can_be_made_new_again() -> None:
    order = Order(id="1", version=3)
    order.mark_new()

    assert order.is_new
    assert order.new_version == 1


def test_broken_rules_are_noted_in_order() -> None:
    order = Order(id="1")

    order.add_broken_rule(TOO_LATE, hour=5)
    order.add_broken_rule(TOO_LATE, hour=6)

    assert [broken.text for broken in order.broken_rules] == [
        "not after 5 o'clock",
        "not after 6 o'clock",
    ]
    with pytest.raises(TypeError, match="takes the parameters"):
        order.add_broken_rule(TOO_LATE)
    assert [broken.code for broken in order.broken_rules] == ["shop.order.too-late"] * 2


def test_the_state_of_a_unit_of_work_is_forgotten_at_its_end() -> None:
    order = Order(id="1")
    order.record_operation("shop.order.pay")
    order.collect_event(a_payment())
    order.add_broken_rule(TOO_LATE, hour=5)

    order.clear_work_unit_state()

    assert len(order.triggered_events) == len(order.triggered_operations) == 0
    assert order.broken_rules == ()


def test_the_hook_before_an_aggregate_is_stored_does_nothing_by_itself() -> None:
    order = Order(id="1")
    order.trigger_data_sync_hook()

    assert vars(order) == vars(Order(id="1"))
