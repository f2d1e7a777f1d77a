"""What a type checker must see of subscribers; ``make check`` runs it, nothing executes it."""

from pragmatic_ddd import DomainEvent, IEventManager
from pragmatic_ddd.ports import ILifecycle, IStoredEventPublisher, Receipt


class Paid(DomainEvent, name="types.paid"):
    cents: int


class Shipped(DomainEvent, name="types.shipped"):
    parcel: str


def handle_paid(event: Paid) -> None:
    print(event.cents)


def a_handler_takes_the_event_it_subscribes_to(events: IEventManager) -> None:
    events.register_subscriber("ledger", Paid, handle_paid)
    events.register_subscriber("big", Paid, handle_paid, condition=lambda paid: paid.cents > 100)
    events.register_subscriber("ledger", Shipped, handle_paid)  # type: ignore[arg-type]


def an_event_manager_plays_every_role(events: IEventManager) -> Receipt:
    publisher: IStoredEventPublisher = events
    lifecycle: ILifecycle = events
    with events as entered:
        lifecycle.shutdown()
        print(publisher.side_by_side)
        return entered.publish(Paid(aggregate_id="o1", cents=1))
