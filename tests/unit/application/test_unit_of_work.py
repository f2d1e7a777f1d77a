import logging
from typing import Any

import pytest

from pragmatic_ddd.application.unit_of_work import UnitOfWork
from pragmatic_ddd.errors import AggregateNotFoundError, UnitOfWorkError
from tests.unit.application.orders import Invoice, Order, Shop


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_events_are_published_after_the_commit_with_their_place(shop: Shop) -> None:
    order = Order.place("o1", "cup")
    order.pay()
    with shop.work() as work:
        work.add(order)
        work.commit()

    places = [(one.aggregate_version, one.event_index) for one in shop.publisher.published]
    assert places == [(1, 0), (1, 1)]
    assert shop.published == ["order.placed", "order.paid"]
    assert shop.stored("o1").line_count == 1


def test_an_event_that_cannot_be_published_is_told_and_hurts_nobody(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    shop.publisher.refused = "unit.order.paid"
    order = Order.place("o1", "cup")
    order.pay()
    order.collect_event(order.triggered_events.snapshot()[0])
    lost = [event.event_id for event in order.triggered_events.snapshot()[1:]]
    with shop.work() as work, caplog.at_level(logging.ERROR):
        work.add(order)
        work.commit()

    assert shop.published == ["order.placed"]
    assert shop.stored("o1").paid
    [record] = caplog.records
    assert record.getMessage() == f"events are lost, for want of an outbox: {', '.join(lost)}"


def test_it_joins_no_transaction_whose_commit_it_would_not_see(shop: Shop) -> None:
    def join() -> None:
        with shop.work() as work:
            work.add(Order.place("o1", "cup"))
            work.commit()

    with pytest.raises(UnitOfWorkError, match="joins no open transaction"):
        shop.transactions.execute(join)

    assert shop.orders.find_by_id("o1") is None
    assert shop.published == []


def test_a_loaded_aggregate_that_is_changed_without_an_event_and_not_added_is_not_saved(
    shop: Shop,
) -> None:
    shop.orders.save(Order(id="o1"))
    with shop.work() as work:
        work.get(Order, "o1").paid = True
        work.commit()

    assert not shop.stored("o1").paid


def test_an_aggregate_is_one_instance_whatever_class_it_is_asked_for_by(shop: Shop) -> None:
    class RushOrder(Order):
        pass

    shop.orders.save(RushOrder(id="o1"))
    shop.orders.save(Order(id="o2"))
    with shop.work() as work:
        work.add(Order(id="o3"))
        assert work.get(RushOrder, "o1") is work.get(Order, "o1")
        with pytest.raises(AggregateNotFoundError):
            work.get(RushOrder, "o2")
        assert work.get(Order, "o2").id == "o2"


def test_a_registered_aggregate_may_bring_its_repository(shop: Shop) -> None:
    with shop.work() as work:
        with pytest.raises(UnitOfWorkError, match="no repository is wired for Invoice"):
            work.register(Invoice(id="i1"))
        work.register(Order.place("o1", "cup"), logic=Order.pay)
        work.register(Invoice(id="i1"), repository=shop.invoices)
        work.commit()

    assert shop.invoices.current_version("i1") == 1
    assert shop.stored("o1").paid


def test_operations_and_noted_rules_are_forgotten_when_they_are_stored(shop: Shop) -> None:
    order = Order.place("o1", "cup")
    order.record_operation("shop.order.place")
    with shop.work() as work:
        work.add(order)
        work.commit()

    assert len(order.triggered_operations) == 0


def test_operations_of_a_loaded_aggregate_are_forgotten_when_it_is_rolled_back(
    shop: Shop,
) -> None:
    with shop.work() as work:
        work.add(Order.place("o1", "cup"))
        work.commit()
    new = Order.place("o2", "cup")
    new.record_operation("shop.order.place")
    with shop.work() as work:
        loaded = work.get(Order, "o1")
        loaded.record_operation("shop.order.look")
        work.add(new)
        work.rollback()

    assert len(loaded.triggered_operations) == 0
    assert len(new.triggered_operations) == 1


def test_what_is_wired_wrongly_is_refused(shop: Shop) -> None:
    wrong: Any = 5
    arguments: dict[str, Any] = {
        "transactions": shop.transactions,
        "publisher": shop.publisher,
        "repositories": {},
    }
    for name in arguments:
        with pytest.raises(TypeError, match=f"{name} = 5"):
            UnitOfWork(**arguments | {name: wrong})
