"""From an aggregate to its consumer: stored, sent as a broker carries it, and handled once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from pragmatic_ddd.application.event_origin import with_origin
from pragmatic_ddd.application.events.wire_format import attributes_of, received_event
from pragmatic_ddd.application.inbox import once
from pragmatic_ddd.application.outbox import OutboxRelay
from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import EventGapError
from pragmatic_ddd.ports import OutboxMessage
from pragmatic_ddd_local import InMemoryEventManager
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_sqlalchemy import SqlAlchemyOutboxStore
from tests.adapters.sqlalchemy.models import OrderPaid, OrderPlaced, outbox_message
from tests.adapters.sqlalchemy.test_event_places import Ground, ground
from tests.databases import sqlite_engine
from tests.inboxes import InboxDatabase, inbox_database

__all__ = ["ground"]

serializer = OrjsonEventSerializer(EventTypeRegistry(OrderPlaced, OrderPaid))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[InboxDatabase]:
    folder = tmp_path / "consumer"
    folder.mkdir()
    with inbox_database(sqlite_engine(folder)) as database:
        yield database


def _carried(message: OutboxMessage) -> DomainEvent:
    """Return an event as a broker's consumer reads it."""
    received = received_event(attributes_of(message), message.payload, where="test").message
    event = serializer.deserialize(
        received.payload, event_type=received.event_type, event_version=received.event_version
    )
    return with_origin(event, received)


def _stored(ground: Ground) -> list[OutboxMessage]:
    store = SqlAlchemyOutboxStore(ground.engine, outbox_message)
    with ground.engine.connect() as connection:
        ids = connection.scalars(
            sa.select(outbox_message.c.message_id).order_by(outbox_message.c.id)
        ).all()
    entries = [store.find(one) for one in ids]
    return [one.message for one in entries if one is not None]


def test_a_history_that_comes_in_any_order_is_handled_in_its_own(
    ground: Ground, database: InboxDatabase
) -> None:
    ground.place("o1")
    ground.pay(times=2)
    ground.delete()
    ground.place("o1")
    ground.pay()

    def handle(event: DomainEvent, session: Session) -> None:
        database.write(session, f"{event.aggregate_version}.{event.event_index}")

    subscriber = once(database.watermark_inbox(), "count", handle)
    events = [_carried(one) for one in _stored(ground)]
    waiting = [*reversed(events), *events]
    rounds = 0
    while waiting:
        rounds += 1
        waiting = [one for one in waiting if not _take(subscriber, one)]

    assert rounds > 1
    assert database.committed_effects() == ["1.0", "2.0", "2.1", "3.0", "1.0", "2.0"]
    assert database.count(database.watermarks) == 1


def _take(subscriber: object, event: DomainEvent) -> bool:
    assert callable(subscriber)
    try:
        subscriber(event)
    except EventGapError:
        return False
    return True


def test_in_process_the_relay_brings_places_as_well(
    ground: Ground, database: InboxDatabase
) -> None:
    inbox = database.watermark_inbox()

    def handle(event: DomainEvent, session: Session) -> None:
        database.write(session, event.event_type)

    manager = InMemoryEventManager(serializer)
    manager.register_subscriber("count", OrderPlaced, once(inbox, "count", handle))
    manager.register_subscriber("count", OrderPaid, once(inbox, "count", handle))
    ground.place("o1")
    ground.pay()
    with manager:
        relay = OutboxRelay(
            store=SqlAlchemyOutboxStore(ground.engine, outbox_message), publisher=manager
        )
        relay.run_once()
        relay.shutdown()

    assert database.committed_effects() == ["test.order.placed", "test.order.paid"]
