"""The composition root of a run's processes: the product's own parts, and what watches them."""

import logging
from collections.abc import Sequence
from typing import Self

import attrs
import sqlalchemy as sa
from sqlalchemy.orm import sessionmaker

from pragmatic_ddd.application.outbox.eager import EagerOutboxPublisher
from pragmatic_ddd.application.outbox.encoding import EventEncoding
from pragmatic_ddd.application.outbox.relay import OutboxRelay
from pragmatic_ddd.ports import PublishPath, Reservation
from pragmatic_ddd.ports.outbox_message import StoredMessage
from pragmatic_ddd_local import CountingMetrics
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_sqlalchemy import SqlAlchemyOutbox, SqlAlchemyUnitsOfWork
from tests.acceptance.faults.broker.publisher import JournalPublisher
from tests.acceptance.faults.diary import Diary
from tests.acceptance.faults.failpoints import Failpoints
from tests.acceptance.faults.shop import Moved, map_account
from tests.acceptance.faults.stage import Stage
from tests.acceptance.faults.watched_store import WatchedStore


@attrs.define(eq=False)
class WatchedMetrics(CountingMetrics):
    """Notes in the diary what the one who judges must know."""

    diary: Diary = attrs.field(kw_only=True)

    def lease_lost(self, path: PublishPath, count: int) -> None:
        super().lease_lost(path, count)
        self.diary.lost_lease(count)


@attrs.define(eq=False, kw_only=True)
class WatchedEager(EagerOutboxPublisher):
    """Passes ``hand-off.before`` and ``hand-off.after``."""

    failpoints: Failpoints

    def announce(self, stored: Sequence[StoredMessage], reservation: Reservation | None) -> None:
        self.failpoints.fire("hand-off.before")
        super().announce(stored, reservation)
        self.failpoints.fire("hand-off.after")


class _ErrorsToDiary(logging.Handler):
    def __init__(self, diary: Diary) -> None:
        super().__init__(logging.ERROR)
        self._diary = diary

    def emit(self, record: logging.LogRecord) -> None:
        self._diary.error(f"{record.name}: {record.getMessage()}")


@attrs.define(eq=False, kw_only=True)
class Equipment:
    """Everything that one process of a run needs. Make it in that process.

    Attributes:
        stage: Where it is.
        failpoints: Of this process.
        engine: With a pool of its own.
        store: The outbox.
        publisher: To the broker.
        metrics: What the process counted.
    """

    stage: Stage
    failpoints: Failpoints
    engine: sa.Engine
    store: WatchedStore
    publisher: JournalPublisher
    metrics: WatchedMetrics

    @classmethod
    def of(cls, stage: Stage, failpoints: Failpoints | None = None) -> Self:
        """Connect to everything, map the model, and log to the process's standard error."""
        failpoints = failpoints or Failpoints.none()
        logging.basicConfig(
            level=logging.INFO,
            format="%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s",
            handlers=[logging.StreamHandler(), _ErrorsToDiary(stage.diary)],
            force=True,
        )
        accounts, outbox = stage.tables()
        map_account(accounts)
        engine = stage.engine()
        return cls(
            stage=stage,
            failpoints=failpoints,
            engine=engine,
            store=WatchedStore(engine, outbox, failpoints=failpoints, diary=stage.diary),
            publisher=JournalPublisher(
                port=stage.broker_port,
                topic=stage.name,
                timeout=stage.send_timeout,
                diary=stage.diary,
                failpoints=failpoints,
                side_by_side=stage.side_by_side,
            ),
            metrics=WatchedMetrics(diary=stage.diary),
        )

    def eager(self) -> WatchedEager:
        return WatchedEager(
            store=self.store,
            publisher=self.publisher,
            config=self.stage.config,
            pool=self.stage.pool,
            metrics=self.metrics,
            failpoints=self.failpoints,
        )

    def relay(self) -> OutboxRelay:
        return OutboxRelay(
            store=self.store,
            publisher=self.publisher,
            config=self.stage.config,
            metrics=self.metrics,
        )

    def units_of_work(self, eager: EagerOutboxPublisher | None) -> SqlAlchemyUnitsOfWork:
        encoding = EventEncoding(serializer=OrjsonEventSerializer(EventTypeRegistry(Moved)))
        sessions = sessionmaker(self.engine)
        SqlAlchemyOutbox(store=self.store, encoding=encoding, eager=eager).attach(sessions)
        return SqlAlchemyUnitsOfWork(sessions)
