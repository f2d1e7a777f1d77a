"""The service: one process that consumes. Any number of them share the work.

export SHIPPING_BROKER_URL=kafka://127.0.0.1:29092
python -m examples.shipping_service
"""

import logging
import signal
import threading
from typing import NoReturn

import sqlalchemy as sa
from sqlalchemy import orm

from examples.order_service.brokers import leave, over_broker
from examples.shipping_service.events import EVENTS
from examples.shipping_service.settings import Settings
from examples.shipping_service.subscribers import subscribe
from examples.shipping_service.tables import (
    inbox_message,
    map_shipments,
    metadata,
    outbox_message,
)
from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_sqlalchemy import (
    SqlAlchemyInbox,
    SqlAlchemyOutbox,
    SqlAlchemyOutboxStore,
    SqlAlchemyUnitsOfWork,
    make_sqlite_safe,
)

TOPICS = ConfigurableTopicResolver(
    MappingConfigurationSource({"event.topic.default": "shop-orders"})
)


def main() -> NoReturn:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    settings = Settings.from_environment()
    map_shipments()
    engine = make_sqlite_safe(sa.create_engine(settings.database_url))
    metadata.create_all(engine)  # an example has no migrations
    serializer = OrjsonEventSerializer(EventTypeRegistry(*EVENTS))
    events = over_broker(settings.broker_url, settings.consumer_group, serializer, TOPICS)
    subscribe(events, SqlAlchemyInbox(_units_of_work(engine, serializer), inbox_message))
    with events:
        print("shipping listens", flush=True)
        stop.wait()
    engine.dispose()
    leave(settings.broker_url)


def _units_of_work(engine: sa.Engine, serializer: OrjsonEventSerializer) -> SqlAlchemyUnitsOfWork:
    """Return units of work whose own events go into an outbox, as in any other service."""
    sessions = orm.sessionmaker(engine)
    store = SqlAlchemyOutboxStore(engine, outbox_message)
    SqlAlchemyOutbox(store=store, encoding=EventEncoding(serializer=serializer)).attach(sessions)
    return SqlAlchemyUnitsOfWork(sessions)


if __name__ == "__main__":
    main()
