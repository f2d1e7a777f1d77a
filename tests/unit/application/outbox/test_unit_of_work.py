import pytest

from pragmatic_ddd.application.outbox import (
    EagerOutboxPublisher,
    EagerPoolConfig,
    EventEncoding,
    OutboxUnitOfWork,
)
from pragmatic_ddd.domain import AggregateRoot, DomainEvent
from pragmatic_ddd.errors import (
    AggregateNotFoundError,
    ConcurrencyError,
    EventSerializationError,
    OutboxStoreError,
    UnitOfWorkError,
)
from pragmatic_ddd.ports import OutboxEntry, OutboxMessage, Reservation, StoredMessage
from pragmatic_ddd.testing.faults import ScriptedPublisher
from pragmatic_ddd_local import (
    InMemoryOutboxStore,
    InMemoryRepository,
    InMemoryTransactionOperations,
)
from tests.unit.application.outbox.builders import DEADLINE


class OrderPlaced(DomainEvent, name="shop.order.placed"):
    pass


class OrderPaid(DomainEvent, name="shop.order.paid"):
    pass


class Order(AggregateRoot, name="shop.order"):
    id: str
    paid: bool = False

    def place(self) -> None:
        self.collect_event(OrderPlaced(aggregate_id=self.id))

    def pay(self) -> None:
        self.paid = True
        self.collect_event(OrderPaid(aggregate_id=self.id))


class ExpressOrder(Order):
    pass


class Invoice(AggregateRoot, name="shop.invoice"):
    id: str


class NameSerializer:
    """Writes no more than the event's name; refuses what it is told to."""

    refused: str = ""

    def serialize(self, event: DomainEvent) -> bytes:
        if event.event_type == self.refused:
            raise EventSerializationError(event.event_type, "total", "NaN")
        return f'"{event.event_type}"'.encode()

    def deserialize(self, payload: bytes, *, event_type: str, event_version: int) -> DomainEvent:
        raise NotImplementedError


class Shop:
    """Transactions, orders and an outbox, and units of work over them."""

    def __init__(self) -> None:
        self.transactions = InMemoryTransactionOperations()
        self.store = InMemoryOutboxStore(transactions=self.transactions)
        self.orders = InMemoryRepository(Order, self.transactions)
        self.serializer = NameSerializer()
        self.publisher = ScriptedPublisher()
        self.eager = EagerOutboxPublisher(
            store=self.store, publisher=self.publisher, pool=EagerPoolConfig(queue_size=10)
        )

    def work(self, *, eager: bool = True) -> OutboxUnitOfWork:
        return OutboxUnitOfWork(
            transactions=self.transactions,
            store=self.store,
            encoding=EventEncoding(serializer=self.serializer),
            repositories={Order: self.orders},
            eager=self.eager if eager else None,
        )

    def place(self, order_id: str = "o1") -> None:
        with self.work() as work:
            order = Order(id=order_id)
            order.place()
            work.add(order)
            work.commit()
        self.eager.wait_until_idle(DEADLINE)

    def entry(self, message_id: str) -> OutboxEntry:
        found = self.store.find(message_id)
        assert found is not None
        return found

    def delivered(self) -> list[str]:
        self.eager.wait_until_idle(DEADLINE)
        return [message.event_type for message in self.publisher.delivered]


@pytest.fixture
def shop() -> "Shop":
    return Shop()


@pytest.fixture(autouse=True)
def _shut_down(shop: Shop) -> "object":
    yield
    shop.eager.shutdown()


def test_a_new_aggregate_is_saved_with_its_events_and_they_go_out(shop: Shop) -> None:
    order = Order(id="o1")
    order.place()
    order.pay()
    (placed, paid) = order.triggered_events.snapshot()

    with shop.work() as work:
        work.add(order)
        work.commit()

    assert shop.delivered() == ["shop.order.placed", "shop.order.paid"]
    stored = shop.orders.find_by_id("o1")
    assert stored is not None
    assert (stored.version, stored.paid) == (1, True)
    assert len(order.triggered_events) == 0
    first, second = shop.entry(placed.event_id).message, shop.entry(paid.event_id).message
    assert (first.aggregate_version, first.event_index) == (1, 0)
    assert (second.aggregate_version, second.event_index) == (1, 1)


def test_a_loaded_aggregate_that_raised_events_is_saved_without_being_added(shop: Shop) -> None:
    shop.place()

    with shop.work() as work:
        order = work.get(Order, "o1")
        assert work.get(Order, "o1") is order
        order.pay()
        work.commit()

    stored = shop.orders.find_by_id("o1")
    assert stored is not None
    assert (stored.version, stored.paid) == (2, True)
    assert shop.delivered() == ["shop.order.placed", "shop.order.paid"]


def test_a_loaded_aggregate_that_changed_silently_is_saved_when_it_is_added(shop: Shop) -> None:
    shop.place()

    with shop.work() as work:
        order = work.get(Order, "o1")
        order.paid = True
        work.add(order)
        work.add(order)
        work.commit()

    stored = shop.orders.find_by_id("o1")
    assert stored is not None
    assert (stored.version, stored.paid) == (2, True)


def test_a_loaded_aggregate_without_a_change_is_left_alone(shop: Shop) -> None:
    shop.place()

    with shop.work() as work:
        work.get(Order, "o1")
        work.commit()

    stored = shop.orders.find_by_id("o1")
    assert stored is not None
    assert stored.version == 1


def test_without_an_eager_publisher_the_events_are_the_relays(shop: Shop) -> None:
    order = Order(id="o1")
    order.place()

    with shop.work(eager=False) as work:
        work.add(order)
        work.commit()

    assert shop.delivered() == []
    assert shop.store.backlog().pending == 1


def test_a_subclass_uses_the_repository_of_its_base(shop: Shop) -> None:
    with shop.work() as work:
        work.add(ExpressOrder(id="o1"))
        work.commit()

    assert shop.orders.find_by_id("o1") is not None


def test_an_aggregate_without_a_repository_is_refused_at_once(shop: Shop) -> None:
    with shop.work() as work, pytest.raises(UnitOfWorkError, match="Invoice"):
        work.add(Invoice(id="i1"))


def test_an_aggregate_that_is_not_there_is_named(shop: Shop) -> None:
    with shop.work() as work:
        with pytest.raises(AggregateNotFoundError, match=r"shop\.order with id 'o9'"):
            work.get(Order, "o9")
        work.commit()


def test_a_failed_commit_stores_nothing_and_a_new_aggregate_may_be_added_again(
    shop: Shop,
) -> None:
    order = Order(id="o1")
    order.place()
    order.pay()
    shop.serializer.refused = "shop.order.paid"

    with shop.work() as work:
        work.add(order)
        with pytest.raises(EventSerializationError):
            work.commit()

    assert shop.orders.find_by_id("o1") is None
    assert shop.store.backlog().pending == 0
    assert order.version == 0
    assert [type(event) for event in order.triggered_events.snapshot()] == [OrderPlaced, OrderPaid]
    shop.serializer.refused = ""
    with shop.work() as work:
        work.add(order)
        work.commit()
    assert shop.delivered() == ["shop.order.placed", "shop.order.paid"]


def test_a_failed_commit_drops_the_events_of_a_loaded_aggregate(shop: Shop) -> None:
    shop.place()
    with shop.work() as work:
        ours = work.get(Order, "o1")
        ours.pay()
        with shop.work() as other_work:
            other_work.get(Order, "o1").pay()
            other_work.commit()

        with pytest.raises(ConcurrencyError):
            work.commit()

    assert ours.version == 1
    assert len(ours.triggered_events) == 0
    assert shop.delivered() == ["shop.order.placed", "shop.order.paid"]


def test_a_failed_commit_takes_the_version_back_that_a_repository_has_raised(shop: Shop) -> None:
    class ForgetfulRepository(InMemoryRepository[Order]):
        def save(self, aggregate: Order) -> None:
            aggregate.version += 1

    order = Order(id="o1")
    order.place()
    shop.serializer.refused = "shop.order.placed"
    work = shop.work()
    work.repositories = {Order: ForgetfulRepository(Order, shop.transactions)}
    work.add(order)

    with pytest.raises(EventSerializationError):
        work.commit()

    assert order.is_new
    assert len(order.triggered_events) == 1


def test_one_failure_undoes_every_aggregate(shop: Shop) -> None:
    shop.place("taken")
    fine, clashing = Order(id="fine"), Order(id="taken")
    fine.place()
    clashing.place()

    with shop.work() as work:
        work.add(fine)
        work.add(clashing)
        with pytest.raises(ConcurrencyError):
            work.commit()

    assert shop.orders.find_by_id("fine") is None
    assert (fine.version, len(fine.triggered_events)) == (0, 1)
    assert shop.delivered() == ["shop.order.placed"]


def test_a_deferred_event_is_built_again_after_a_failure(shop: Shop) -> None:
    order = Order(id="o1")
    built: list[OrderPlaced] = []

    def build() -> OrderPlaced:
        built.append(OrderPlaced(aggregate_id="o1"))
        return built[-1]

    order.collect_event_later(build)
    shop.serializer.refused = "shop.order.placed"
    with shop.work() as work:
        work.add(order)
        with pytest.raises(EventSerializationError):
            work.commit()
    shop.serializer.refused = ""

    with shop.work() as work:
        work.add(order)
        work.commit()

    assert len(built) == 2
    assert shop.delivered() == ["shop.order.placed"]


def test_a_failed_commit_gives_its_room_back(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(
        self: InMemoryOutboxStore,
        messages: list[OutboxMessage],
        *,
        reservation: Reservation | None = None,
    ) -> list[StoredMessage]:
        raise OutboxStoreError("disk full")

    order = Order(id="o1")
    for _ in range(10):
        order.place()
    with monkeypatch.context() as patch:
        patch.setattr(InMemoryOutboxStore, "store", broken)
        with shop.work() as work:
            work.add(order)
            with pytest.raises(OutboxStoreError):
                work.commit()

    assert shop.eager.reserve(10) is not None


def test_a_rollback_drops_events_of_loaded_aggregates_and_keeps_those_of_new_ones(
    shop: Shop,
) -> None:
    shop.place()
    with shop.work() as work:
        loaded, new = work.get(Order, "o1"), Order(id="o2")
        loaded.pay()
        new.place()
        work.add(new)

        work.rollback()

    assert len(loaded.triggered_events) == 0
    assert len(new.triggered_events) == 1
    assert shop.delivered() == ["shop.order.placed"]


def test_a_rollback_drops_events_of_a_loaded_aggregate_that_was_added(shop: Shop) -> None:
    shop.place()
    loaded = shop.orders.find_by_id("o1")
    assert loaded is not None
    loaded.pay()
    with shop.work() as work:
        work.add(loaded)

    assert len(loaded.triggered_events) == 0


def test_leaving_the_block_without_a_commit_rolls_back(shop: Shop) -> None:
    shop.place()

    order = Order(id="never set")

    def change() -> None:
        nonlocal order
        with shop.work() as work:
            order = work.get(Order, "o1")
            order.pay()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change()

    assert len(order.triggered_events) == 0
    assert shop.delivered() == ["shop.order.placed"]


def test_it_is_used_once(shop: Shop) -> None:
    with shop.work() as work:
        work.commit()
        for call in (
            work.commit,
            lambda: work.add(Order(id="o1")),
            lambda: work.get(Order, "o1"),
        ):
            with pytest.raises(UnitOfWorkError, match="has ended"):
                call()
        work.rollback()


def test_nothing_is_committed_after_a_rollback(shop: Shop) -> None:
    with shop.work() as work:
        work.rollback()
        with pytest.raises(UnitOfWorkError):
            work.commit()


def test_a_commit_inside_another_transaction_announces_nothing_that_may_not_happen(
    shop: Shop,
) -> None:
    """Joined to an outer transaction, the rows become visible with it, or never."""
    order = Order(id="o1")
    order.place()

    def outer() -> None:
        with shop.work() as work:
            work.add(order)
            work.commit()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        shop.transactions.execute(outer)

    assert shop.delivered() == []
    assert shop.store.backlog().pending == 0


def test_the_events_of_a_joined_transaction_are_the_relays_once_it_is_committed(
    shop: Shop,
) -> None:
    order = Order(id="o1")
    order.place()

    def outer() -> None:
        with shop.work() as work:
            work.add(order)
            work.commit()

    shop.transactions.execute(outer)

    assert shop.delivered() == []
    (claim,) = shop.store.claim_pending(batch_size=10, lease=DEADLINE)
    assert claim.message.event_type == "shop.order.placed"
