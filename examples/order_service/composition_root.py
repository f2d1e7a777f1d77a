"""The one place that knows every part: from settings to a container, once per process."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import punq
import sqlalchemy as sa
from sqlalchemy import orm

from examples.order_service.application import IOrderList, IUnitsOfWork, OrderService
from examples.order_service.application.order_list import OrderListUpdater
from examples.order_service.application.warehouse import IPackingList, Warehouse
from examples.order_service.brokers import over_broker
from examples.order_service.domain import EVENTS
from examples.order_service.infrastructure.mapping import map_orders
from examples.order_service.infrastructure.order_list import SqlAlchemyOrderList
from examples.order_service.infrastructure.packing_list import SqlAlchemyPackingList
from examples.order_service.infrastructure.tables import metadata, outbox_message
from examples.order_service.infrastructure.units_of_work import SqlAlchemyOrderUnitsOfWork
from examples.order_service.settings import Settings
from pragmatic_ddd.application.command_executor import CommandExecutor
from pragmatic_ddd.application.configuration import (
    EnvironmentConfigurationSource,
    MappingConfigurationSource,
)
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.application.outbox import EagerOutboxPublisher, EventEncoding, OutboxRelay
from pragmatic_ddd.ports import (
    ICommandExecutor,
    IConfigurationSource,
    IEventManager,
    IEventSerializer,
    IOutboxStore,
)
from pragmatic_ddd_local import ThreadPoolEventManager
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_punq import register_core_services
from pragmatic_ddd_sqlalchemy import (
    SqlAlchemyOutbox,
    SqlAlchemyOutboxStore,
    make_sqlite_safe,
    validate_schema,
)

# One topic: the events of an order keep their order on the broker, too.
TOPICS = ConfigurableTopicResolver(
    MappingConfigurationSource({"event.topic.default": "shop-orders"})
)


def compose(settings: Settings) -> punq.Container:
    """Return a container with every part of the service; nothing is started or connected."""
    map_orders()
    engine = make_sqlite_safe(sa.create_engine(settings.database_url))
    serializer = a_serializer()
    events = an_event_manager(settings, serializer)
    store = SqlAlchemyOutboxStore(engine, outbox_message)

    container = punq.Container()
    container.register(sa.Engine, instance=engine)
    container.register(IConfigurationSource, instance=EnvironmentConfigurationSource())
    container.register(IEventSerializer, instance=serializer)
    container.register(IEventManager, instance=events)
    container.register(IOutboxStore, instance=store)
    register_core_services(container)  # encoding, eager publisher, relay

    sessions = orm.sessionmaker(engine, expire_on_commit=False)
    outbox = SqlAlchemyOutbox(
        store=store,
        encoding=container.resolve(EventEncoding),
        eager=container.resolve(EagerOutboxPublisher),
    )
    outbox.attach(sessions)

    units_of_work = SqlAlchemyOrderUnitsOfWork(sessions)
    container.register(IUnitsOfWork, instance=units_of_work)
    container.register(ICommandExecutor, instance=CommandExecutor(units_of_work))
    container.register(OrderService)
    container.register(IPackingList, SqlAlchemyPackingList)
    container.register(IOrderList, SqlAlchemyOrderList)
    container.register(Warehouse)
    container.register(OrderListUpdater)
    if settings.broker_url is None:
        subscribe(container)
    return container


def subscribe(container: punq.Container) -> None:
    """Let this process hear the events, before its event manager is started."""
    events: IEventManager = container.resolve(IEventManager)
    container.resolve(Warehouse).subscribe_to(events)
    container.resolve(OrderListUpdater).subscribe_to(events)


def a_serializer() -> OrjsonEventSerializer:
    event_types = EventTypeRegistry(*EVENTS)
    return OrjsonEventSerializer(event_types)


def an_event_manager(settings: Settings, serializer: IEventSerializer) -> IEventManager:
    """Subscribers in this process, or a broker that brings events to other ones."""
    if settings.broker_url is None:
        return ThreadPoolEventManager(serializer)
    TOPICS.check(EVENTS)
    return over_broker(settings.broker_url, settings.consumer_group, serializer, TOPICS)


def create_schema(container: punq.Container) -> None:
    """Make the tables that are missing: an example has no migrations."""
    engine: sa.Engine = container.resolve(sa.Engine)
    metadata.create_all(engine)
    validate_schema(engine, outbox_message)


@contextmanager
def running(container: punq.Container, *, with_relay: bool) -> Iterator[None]:
    """Start what has a life, and end it in the reverse order: the others use the event manager."""
    events: IEventManager = container.resolve(IEventManager)
    relay: OutboxRelay = container.resolve(OutboxRelay)
    with ExitStack() as ends:
        ends.callback(container.resolve(sa.Engine).dispose)
        events.start()
        ends.callback(events.shutdown)
        if with_relay:
            ends.enter_context(relay)
        ends.enter_context(container.resolve(EagerOutboxPublisher))
        yield
