from collections.abc import Callable
from typing import Any

import pytest

from pragmatic_ddd import AggregateRoot, IUnitOfWork
from pragmatic_ddd.application.inbox import StateMachine, once_by_state
from pragmatic_ddd.application.outbox import EventEncoding, OutboxUnitOfWork
from pragmatic_ddd.errors import AggregateNotFoundError
from pragmatic_ddd_local import InMemoryOutboxStore, InMemoryRepository
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from tests.unit.application.inbox.stories import OrderPaid, paid


class Shipment(AggregateRoot, name="test.inbox.shipment"):
    state: str = "waiting"
    cents: int = 0

    def pay(self, event: OrderPaid) -> None:
        self.state = "paid"
        self.cents += 5


machine = StateMachine({"waiting": ["paid"], "paid": ["sent"], "sent": []})


@pytest.fixture
def units_of_work() -> Callable[[], IUnitOfWork]:
    store = InMemoryOutboxStore()
    shipments = InMemoryRepository(Shipment, store.transactions)
    encoding = EventEncoding(serializer=OrjsonEventSerializer(EventTypeRegistry()))

    def begin() -> IUnitOfWork:
        return OutboxUnitOfWork(
            transactions=store.transactions,
            store=store,
            encoding=encoding,
            repositories={Shipment: shipments},
        )

    with begin() as work:
        work.add(Shipment(id="1"))
        work.commit()
    return begin


def _subscriber(
    units_of_work: Callable[[], IUnitOfWork],
    **changes: Any,  # noqa: ANN401
) -> Callable[[OrderPaid], None]:
    given: dict[str, Any] = {
        "is_applied": lambda shipment, _: machine.has_reached(shipment.state, "paid"),
        "apply": Shipment.pay,
    } | changes
    return once_by_state(units_of_work, Shipment, **given)


def _shipment(units_of_work: Callable[[], IUnitOfWork], key: str = "1") -> Shipment:
    with units_of_work() as work:
        return work.get(Shipment, key)


def test_an_event_is_applied_once(units_of_work: Callable[[], IUnitOfWork]) -> None:
    subscriber = _subscriber(units_of_work)

    for _ in range(3):
        subscriber(paid())

    shipment = _shipment(units_of_work)
    assert (shipment.state, shipment.cents) == ("paid", 5)


def test_an_event_is_not_applied_to_a_later_state(
    units_of_work: Callable[[], IUnitOfWork],
) -> None:
    with units_of_work() as work:
        sent = work.get(Shipment, "1")
        sent.state = "sent"
        work.add(sent)
        work.commit()

    _subscriber(units_of_work)(paid())

    assert _shipment(units_of_work).state == "sent"


def test_what_fails_is_not_stored(units_of_work: Callable[[], IUnitOfWork]) -> None:
    def fail(shipment: Shipment, event: OrderPaid) -> None:
        shipment.pay(event)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        _subscriber(units_of_work, apply=fail)(paid())

    assert _shipment(units_of_work).state == "waiting"


def test_the_aggregate_may_have_another_id_than_the_event(
    units_of_work: Callable[[], IUnitOfWork],
) -> None:
    _subscriber(units_of_work, id_of=lambda event: event.aggregate_id.removeprefix("order-"))(
        paid(of="order-1")
    )

    assert _shipment(units_of_work).state == "paid"


def test_an_aggregate_that_is_not_there_yet_is_told(
    units_of_work: Callable[[], IUnitOfWork],
) -> None:
    with pytest.raises(AggregateNotFoundError):
        _subscriber(units_of_work)(paid(of="2"))


def test_what_is_left_to_later_is_refused(units_of_work: Callable[[], IUnitOfWork]) -> None:
    async def apply(shipment: Shipment, event: OrderPaid) -> None: ...

    with pytest.raises(TypeError, match="coroutine"):
        _subscriber(units_of_work, apply=apply)(paid())


@pytest.mark.parametrize("wrong", ["is_applied", "apply", "id_of"])
def test_a_wrong_part_is_named(units_of_work: Callable[[], IUnitOfWork], wrong: str) -> None:
    with pytest.raises(TypeError, match=wrong):
        _subscriber(units_of_work, **{wrong: 1})
