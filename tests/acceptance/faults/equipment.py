"""The composition root of a run's processes: the product's own parts, and what watches them."""

import logging
import threading
from collections.abc import Sequence
from typing import Any, Self

import attrs
import sqlalchemy as sa
from sqlalchemy.orm import sessionmaker

from pragmatic_ddd.application.outbox.eager import EagerOutboxPublisher
from pragmatic_ddd.application.outbox.encoding import EventEncoding
from pragmatic_ddd.application.outbox.health import BrokerHealth
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
    _of_thread: threading.local = attrs.field(factory=threading.local, init=False)

    @property
    def left_by_this_thread(self) -> int:
        """How many events the calling thread has left to the relay."""
        count: int = getattr(self._of_thread, "left", 0)
        return count

    def left_to_relay(self, count: int) -> None:
        super().left_to_relay(count)
        self._of_thread.left = self.left_by_this_thread + count

    def lease_lost(self, path: PublishPath, count: int) -> None:
        super().lease_lost(path, count)
        self.diary.lost_lease(count)


@attrs.define(eq=False, kw_only=True)
class WatchedEager(EagerOutboxPublisher):
    """Passes ``hand-off.before`` and ``hand-off.after``; notes what it had no room for."""

    failpoints: Failpoints
    metrics: WatchedMetrics

    def announce(self, stored: Sequence[StoredMessage], reservation: Reservation | None) -> None:
        self.failpoints.fire("hand-off.before")
        left_before = self.metrics.left_by_this_thread
        super().announce(stored, reservation)
        if self.metrics.left_by_this_thread > left_before:
            self.metrics.diary.left_to_relay(one.message.message_id for one in stored)
        self.failpoints.fire("hand-off.after")


def _nobody_to_wake() -> None: ...


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
    def of(
        cls,
        stage: Stage,
        failpoints: Failpoints | None = None,
        **engine_options: Any,  # noqa: ANN401  # as create_engine's
    ) -> Self:
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
        engine = stage.engine(**engine_options)
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

    def eager(self, relay: OutboxRelay | None = None) -> WatchedEager:
        """Make an eager publisher; it wakes the given relay, if its process has one."""
        return WatchedEager(
            store=self.store,
            publisher=self.publisher,
            config=self.stage.config,
            pool=self.stage.pool,
            metrics=self.metrics,
            failpoints=self.failpoints,
            health=BrokerHealth() if relay is None else relay.health,
            wake_relay=_nobody_to_wake if relay is None else relay.wake,
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
