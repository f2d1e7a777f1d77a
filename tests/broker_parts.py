"""What every adapter's test of a broker contract needs: events in bytes, and an outbox."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.application.outbox import EventEncoding, OutboxRelay
from pragmatic_ddd.ports import OutboxMessage
from pragmatic_ddd.testing.broker_binding import ContractOutbox
from pragmatic_ddd.testing.event_manager import CONTRACT_EVENTS
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from tests.databases import outbox_database, sqlite_engine


def contract_serializer() -> OrjsonEventSerializer:
    """Return a serializer that knows the events of the contract."""
    return OrjsonEventSerializer(EventTypeRegistry(*CONTRACT_EVENTS))


def contract_encoding() -> Callable[[DomainEvent], OutboxMessage]:
    """Return what encodes an event of the contract as the outbox stores it."""
    encoding = EventEncoding(serializer=contract_serializer())
    return lambda event: encoding.encode(event, aggregate_type="contract.parcel")


@contextmanager
def contract_outbox(folder: Path) -> Iterator[ContractOutbox]:
    """Make an outbox on SQLite, and a relay without background threads."""
    with outbox_database(sqlite_engine(folder)) as database:
        store = database.store()
        yield ContractOutbox(
            store=store,
            relay_once=lambda publisher: OutboxRelay(store=store, publisher=publisher).run_once(),
        )
