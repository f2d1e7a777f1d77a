"""The composition root of the run's processes: the same parts in each, over real servers."""

import datetime as dt
from typing import Self

import attrs
import sqlalchemy as sa
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.application.outbox.config import OutboxRelayConfig
from pragmatic_ddd.application.outbox.eager import EagerOutboxPublisher
from pragmatic_ddd.application.outbox.encoding import EventEncoding
from pragmatic_ddd.application.outbox.relay import OutboxRelay
from pragmatic_ddd.ports import IEventManager, PublishPath
from pragmatic_ddd_local import CountingMetrics
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_sqlalchemy import (
    SqlAlchemyOutbox,
    SqlAlchemyOutboxStore,
    create_sqlite_engine,
    outbox_table,
)
from tests.acceptance.brokers.broker import Lane
from tests.acceptance.brokers.catalogue import broker
from tests.acceptance.e2e.model import OrderChanged, Probe, order_table
from tests.acceptance.e2e.part import Part

CONFIG = OutboxRelayConfig(
    poll_interval=dt.timedelta(seconds=1),
    lease=dt.timedelta(seconds=15),
    grace=dt.timedelta(seconds=15),
    backoff_cap=dt.timedelta(seconds=5),
)


@attrs.define(kw_only=True, eq=False)
class Wiring:
    """Everything that one process of the run needs.

    Attributes:
        part: The part that it belongs to.
        engine: On the part's database.
        orders: The part's table of orders.
        outbox: The part's outbox table.
        store: The outbox.
        encoding: How events are encoded.
        events: The event manager, not yet started.
        metrics: What the process counted.
    """

    part: Part
    engine: sa.Engine
    orders: sa.Table
    outbox: sa.Table
    store: SqlAlchemyOutboxStore
    encoding: EventEncoding
    events: IEventManager
    metrics: CountingMetrics

    @classmethod
    def of(cls, part: Part, *, consumer_group: str | None = None) -> Self:
        engine = _engine(part.database_url)
        metadata = sa.MetaData()
        outbox = outbox_table(metadata, part.outbox_table)
        orders = order_table(metadata, part.order_table)
        event_types = EventTypeRegistry(Probe, OrderChanged)
        serializer = OrjsonEventSerializer(event_types)
        metrics = CountingMetrics()
        return cls(
            part=part,
            engine=engine,
            orders=orders,
            outbox=outbox,
            store=SqlAlchemyOutboxStore(engine, outbox),
            encoding=EventEncoding(serializer=serializer),
            events=broker(part.broker).events(
                Lane(topic=part.topic, group=consumer_group, folder=part.folder),
                serializer,
                metrics,
            ),
            metrics=metrics,
        )

    def eager(self) -> EagerOutboxPublisher:
        return EagerOutboxPublisher(
            store=self.store, publisher=self.events, config=CONFIG, metrics=self.metrics
        )

    def relay(self) -> OutboxRelay:
        return OutboxRelay(
            store=self.store, publisher=self.events, config=CONFIG, metrics=self.metrics
        )

    def sessions(self, eager: EagerOutboxPublisher) -> sessionmaker[Session]:
        sessions = sessionmaker(self.engine)
        SqlAlchemyOutbox(store=self.store, encoding=self.encoding, eager=eager).attach(sessions)
        return sessions

    def counts(self) -> dict[str, int]:
        return {
            str(path): self.metrics.count("published", path=path)
            for path in (PublishPath.EAGER, PublishPath.RELAY)
        }

    def rows_by_status(self) -> dict[str, int]:
        by_status = sa.select(self.outbox.c.status, sa.func.count()).group_by(self.outbox.c.status)
        with self.engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(by_status)}

    def has_unsent_rows(self) -> bool:
        return bool({"PENDING", "PROCESSING"} & self.rows_by_status().keys())


def _engine(url: str) -> sa.Engine:
    if url.startswith("sqlite:"):
        return create_sqlite_engine(url.removeprefix("sqlite:///"))
    return sa.create_engine(url)
