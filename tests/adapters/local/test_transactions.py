import json
import threading

import pytest

from pragmatic_ddd.domain.work_unit_state import observe_collection
from pragmatic_ddd.errors import ConcurrencyError, UnitOfWorkError
from pragmatic_ddd_local import (
    InMemoryOutboxStore,
    InMemoryRepository,
    InMemoryTransactionOperations,
)
from tests.adapters.local.shop import Order, a_payment, a_stored


@pytest.fixture
def transactions() -> InMemoryTransactionOperations:
    return InMemoryTransactionOperations()


@pytest.fixture
def orders(transactions: InMemoryTransactionOperations) -> InMemoryRepository[Order]:
    return InMemoryRepository(Order, transactions)


@pytest.fixture
def store(transactions: InMemoryTransactionOperations) -> InMemoryOutboxStore:
    return InMemoryOutboxStore(transactions=transactions)


def stored(orders: InMemoryRepository[Order], order_id: str = "1") -> Order:
    found = orders.find_by_id(order_id)
    assert found is not None
    return found


def test_a_saved_aggregate_is_found_by_its_id(orders: InMemoryRepository[Order]) -> None:
    order = Order(id="1", lines=["book"])
    orders.save(order)

    assert order.version == 1
    found = stored(orders)
    assert (found.lines, found.version) == (["book"], 1)
    assert not found.is_new
    assert orders.find_by_id("2") is None


def test_changes_are_seen_only_once_they_are_saved(orders: InMemoryRepository[Order]) -> None:
    order = Order(id="1", lines=["book"])
    orders.save(order)

    order.lines.append("pen")
    stored(orders).lines.append("ink")
    assert stored(orders).lines == ["book"]

    orders.save(order)
    assert stored(orders).lines == ["book", "pen"]


def test_events_and_observers_are_not_state(orders: InMemoryRepository[Order]) -> None:
    order = Order(id="1")
    observe_collection(order, lambda _: None)
    order.pay(5)

    orders.save(order)

    assert len(order.triggered_events) == 1
    assert len(stored(orders).triggered_events) == 0


def test_who_loaded_an_older_version_is_refused(orders: InMemoryRepository[Order]) -> None:
    orders.save(Order(id="1"))
    first, second = stored(orders), stored(orders)
    first.lines.append("book")
    orders.save(first)

    with pytest.raises(ConcurrencyError, match="version 2, not 1"):
        orders.save(second)

    assert second.version == 1
    assert stored(orders).lines == ["book"]


def test_an_id_is_inserted_once(orders: InMemoryRepository[Order]) -> None:
    orders.save(Order(id="1", lines=["book"]))

    with pytest.raises(ConcurrencyError):
        orders.save(Order(id="1"))

    assert stored(orders).lines == ["book"]


def test_a_transaction_sees_its_own_changes_and_nobody_else_does(
    orders: InMemoryRepository[Order],
    store: InMemoryOutboxStore,
    transactions: InMemoryTransactionOperations,
) -> None:
    seen: list[object] = []

    def look() -> None:
        seen.append((orders.find_by_id("1"), store.messages()))

    def work() -> int:
        orders.save(Order(id="1"))
        store.store([a_stored(a_payment())])
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return stored(orders).version

    assert transactions.execute(work) == 1
    assert seen == [(None, [])]
    assert len(store.messages()) == 1


def test_a_rollback_undoes_everything(
    orders: InMemoryRepository[Order],
    store: InMemoryOutboxStore,
    transactions: InMemoryTransactionOperations,
) -> None:
    order = Order(id="1")
    orders.save(order)

    def work() -> None:
        order.lines.append("book")
        orders.save(order)
        orders.save(order)
        store.store([a_stored(a_payment())])
        raise LookupError

    with pytest.raises(LookupError):
        transactions.execute(work)

    assert order.version == stored(orders).version == 1
    assert stored(orders).lines == []
    assert store.messages() == []
    orders.save(order)
    assert stored(orders).lines == ["book"]


def test_an_inner_transaction_joins_the_outer_one(
    store: InMemoryOutboxStore, transactions: InMemoryTransactionOperations
) -> None:
    def work() -> None:
        transactions.execute(lambda: store.store([a_stored(a_payment())]))
        assert store.messages() == []
        raise LookupError

    with pytest.raises(LookupError):
        transactions.execute(work)

    assert store.messages() == []


def test_a_transaction_whose_part_failed_cannot_be_committed(
    store: InMemoryOutboxStore, transactions: InMemoryTransactionOperations
) -> None:
    def fail() -> None:
        raise LookupError

    def work() -> None:
        store.store([a_stored(a_payment())])
        with pytest.raises(LookupError):
            transactions.execute(fail)

    with pytest.raises(UnitOfWorkError, match="rolled back"):
        transactions.execute(work)

    assert store.messages() == []
    assert transactions.current is None


def test_two_transactions_do_not_change_one_aggregate(
    orders: InMemoryRepository[Order], transactions: InMemoryTransactionOperations
) -> None:
    orders.save(Order(id="1"))
    first, second = stored(orders), stored(orders)
    refused: list[str] = []

    def interfere() -> None:
        try:
            orders.save(second)
        except ConcurrencyError as error:
            refused.append(str(error))

    def work() -> None:
        orders.save(first)
        thread = threading.Thread(target=interfere)
        thread.start()
        thread.join()

    transactions.execute(work)

    assert refused == ["another transaction is changing Order '1'"]
    assert stored(orders).version == 2


def test_many_threads_change_one_aggregate_one_after_the_other(
    orders: InMemoryRepository[Order],
    store: InMemoryOutboxStore,
    transactions: InMemoryTransactionOperations,
) -> None:
    orders.save(Order(id="1"))

    def change() -> None:
        order = stored(orders)
        order.lines.append("book")
        orders.save(order)
        store.store([a_stored(a_payment(order.version))])

    def change_often() -> None:
        done = 0
        while done < 25:
            try:
                transactions.execute(change)
            except ConcurrencyError:
                continue
            done += 1

    threads = [threading.Thread(target=change_often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert stored(orders).version == 101
    assert len(stored(orders).lines) == 100
    totals = [json.loads(message.payload)["total"] for message in store.messages()]
    assert totals == list(range(2, 102))
