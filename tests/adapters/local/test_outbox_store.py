"""What only the outbox in memory does; the rest is in its contract."""

import datetime as dt
import threading

import pytest

from pragmatic_ddd.application.outbox import (
    EagerOutboxPublisher,
    EventEncoding,
    OutboxRelay,
    OutboxUnitOfWork,
)
from pragmatic_ddd.errors import ConcurrencyError
from pragmatic_ddd.ports import PublishPath
from pragmatic_ddd.testing.clock import SettableClock
from pragmatic_ddd.testing.faults import ScriptedPublisher, fails, unavailable
from pragmatic_ddd.testing.messages import failed
from pragmatic_ddd_local import CountingMetrics, InMemoryOutboxStore, InMemoryRepository
from tests.adapters.local.shop import Order, a_payment, a_serializer, a_stored

A_MINUTE = dt.timedelta(minutes=1)


def test_a_batch_has_at_least_one_message() -> None:
    with pytest.raises(ValueError, match="batch_size"):
        InMemoryOutboxStore().claim_pending(batch_size=0, lease=A_MINUTE)


def test_successors_that_were_due_earlier_are_taken_in_order() -> None:
    clock = SettableClock()
    store = InMemoryOutboxStore(clock)
    clock.advance(A_MINUTE)
    first = store.store([a_stored(a_payment(1))])
    clock.advance(-A_MINUTE)
    second = store.store([a_stored(a_payment(2)), a_stored(a_payment(3, of="2"))])
    clock.advance(2 * A_MINUTE)

    claimed = store.claim_pending(batch_size=10, lease=A_MINUTE)

    of_first = [one.id for one in claimed if one.message.aggregate_id == "1"]
    assert of_first == [first[0].id, second[0].id]
    assert len(claimed) == 3


def test_what_waits_for_many_hours_is_not_taken_for_stranded() -> None:
    store = InMemoryOutboxStore(SettableClock())
    store.store([a_stored(a_payment(1)), a_stored(a_payment(2, of="2"))])
    later, _ = store.claim_pending(batch_size=10, lease=300 * A_MINUTE)
    assert store.tidy() == 0

    store.retry_later(failed(later, retry_in=600 * A_MINUTE))

    assert store.tidy() == 0
    assert store.next_due_in() == 300 * A_MINUTE


def test_a_message_that_failed_is_taken_again_before_its_successors() -> None:
    clock = SettableClock()
    store = InMemoryOutboxStore(clock)
    store.store([a_stored(a_payment(1))])
    claimed = store.claim_pending(batch_size=10, lease=A_MINUTE)
    store.store([a_stored(a_payment(2))])
    store.retry_later(failed(*claimed, retry_in=A_MINUTE))
    assert store.claim_pending(batch_size=10, lease=A_MINUTE) == []
    clock.advance(A_MINUTE)

    again = store.claim_pending(batch_size=10, lease=A_MINUTE)

    assert [one.id for one in again] == [claimed[0].id]
    assert store.claim_pending(batch_size=10, lease=A_MINUTE) == []


def test_messages_are_listed_in_the_order_of_their_ids() -> None:
    store = InMemoryOutboxStore()
    messages = [a_stored(a_payment(number)) for number in range(3)]
    store.store(messages)
    store.mark_sent([])

    assert store.messages() == messages


class Shop:
    """Orders, an outbox with both paths, and a broker that can fail."""

    def __init__(self) -> None:
        self.store = InMemoryOutboxStore()
        self.metrics = CountingMetrics()
        self.publisher = ScriptedPublisher(longest_call=dt.timedelta(seconds=1), side_by_side=2)
        self.relay = OutboxRelay(store=self.store, publisher=self.publisher, metrics=self.metrics)
        self.eager = EagerOutboxPublisher(
            store=self.store,
            publisher=self.publisher,
            metrics=self.metrics,
            wake_relay=self.relay.wake,
        )
        self._orders = InMemoryRepository(Order, self.store.transactions)
        self._encoding = EventEncoding(serializer=a_serializer())

    def unit_of_work(self) -> OutboxUnitOfWork:
        return OutboxUnitOfWork(
            transactions=self.store.transactions,
            store=self.store,
            encoding=self._encoding,
            repositories={Order: self._orders},
            eager=self.eager,
        )

    def open_order(self, order_id: str) -> None:
        with self.unit_of_work() as work:
            work.add(Order(id=order_id))
            work.commit()

    def pay_often(self, order_id: str, times: int) -> None:
        while times:
            with self.unit_of_work() as work:
                work.get(Order, order_id).pay(times)
                try:
                    work.commit()
                except ConcurrencyError:
                    continue
            times -= 1

    def wait_until_everything_is_sent(self) -> None:
        pause = threading.Event()
        for _ in range(1000):
            backlog = self.store.backlog()
            if not backlog.pending + backlog.processing:
                return
            self.relay.wake()
            pause.wait(0.02)


def test_eager_and_relay_bring_everything_out_in_order() -> None:
    shop = Shop()
    ids = [str(number) for number in range(5)]
    for order_id in ids:
        shop.open_order(order_id)
    shop.publisher.next(fails(), fails(), unavailable())
    threads = [threading.Thread(target=shop.pay_often, args=(one, 20)) for one in ids * 2]

    with shop.relay, shop.eager:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        shop.wait_until_everything_is_sent()

    places = [(one.aggregate_id, one.aggregate_version or 0) for one in shop.publisher.delivered]
    assert len(places) == len(set(places)) == 200
    for order_id in ids:
        versions = [version for of, version in places if of == order_id]
        assert versions == sorted(versions)
    published = [shop.metrics.count("published", path=path) for path in PublishPath]
    assert sum(published) == 200
