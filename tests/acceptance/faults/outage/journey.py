"""A process in virtual time, for which hours take seconds: relay, eager publisher and writer.

The relay's own loop runs; where it would sleep, time passes: for the rows of the database, for
relay, eager publisher and broker health, by the same step.
"""

import datetime as dt
import logging
from collections.abc import Callable

import attrs
import sqlalchemy as sa
from sqlalchemy.orm import sessionmaker

from pragmatic_ddd.application.outbox.eager import EagerOutboxPublisher
from pragmatic_ddd.application.outbox.encoding import EventEncoding
from pragmatic_ddd.application.outbox.health import BrokerHealth
from pragmatic_ddd.application.outbox.relay import OutboxRelay
from pragmatic_ddd.errors import InfrastructureError
from pragmatic_ddd.ports import IStoredEventPublisher, OutboxMessage, Receipt
from pragmatic_ddd.ports.outbox_message import ClaimedMessage
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_sqlalchemy import SqlAlchemyOutbox, SqlAlchemyUnitsOfWork
from tests.acceptance.faults.actors import change
from tests.acceptance.faults.broker.publisher import JournalPublisher
from tests.acceptance.faults.failpoints import Failpoints
from tests.acceptance.faults.shop import Moved, map_account
from tests.acceptance.faults.stage import Stage
from tests.acceptance.kinds.virtual_time import StoreInVirtualTime, VirtualTime
from tests.databases import OutboxDatabase

_MOST_ROUNDS = 50_000
_PATIENCE = dt.timedelta(seconds=0.5)


@attrs.frozen
class Send:
    """One call of the event manager: when, in seconds of the journey, and what it raised."""

    at: float
    message_id: str
    error: str = ""


@attrs.frozen
class Row:
    """What became of an event."""

    message_id: str
    account: str
    status: str
    attempts: int
    created_at: dt.datetime
    sent_at: dt.datetime | None

    @property
    def waited_seconds(self) -> float:
        """How long it was until it was sent, in the time of the journey."""
        return 0.0 if self.sent_at is None else (self.sent_at - self.created_at).total_seconds()


@attrs.define(eq=False, kw_only=True)
class SendLog(IStoredEventPublisher):
    """Notes every send."""

    publisher: JournalPublisher
    time: VirtualTime
    sends: list[Send] = attrs.field(factory=list, init=False)

    @property
    def longest_call(self) -> dt.timedelta:
        return self.publisher.longest_call

    @property
    def side_by_side(self) -> int:
        return self.publisher.side_by_side

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        try:
            receipt = self.publisher.publish_stored(message)
        except InfrastructureError as error:
            kind = type(error).__name__
            self.sends.append(Send(self.time.passed, message.message_id, kind))
            raise
        self.sends.append(Send(self.time.passed, message.message_id))
        return receipt


@attrs.define(eq=False)
class ClaimLog(StoreInVirtualTime):
    """Notes how many rows the relay asks for each time."""

    asked: list[int] = attrs.field(factory=list, init=False)

    def claim_pending(
        self, *, batch_size: int, lease: dt.timedelta, confirmed_token: str | None = None
    ) -> list[ClaimedMessage]:
        self.asked.append(batch_size)
        return super().claim_pending(
            batch_size=batch_size, lease=lease, confirmed_token=confirmed_token
        )


@attrs.define(eq=False, kw_only=True)
class TravellingRelay(OutboxRelay):
    """Lets time pass instead of sleeping, in steps."""

    travel: Callable[[float], None]
    longest_step: float
    rounds: int = attrs.field(default=0, init=False)

    def _sleep(self, pause: dt.timedelta, *, may_be_woken: bool) -> None:
        self.rounds += 1
        if self.rounds > _MOST_ROUNDS:
            raise KeyboardInterrupt(f"the relay spins: {self.rounds} rounds")
        left = pause.total_seconds()
        while left > 0.0 and not self._stopping and not self._is_woken(may_be_woken):
            step = min(left, self.longest_step)
            self.travel(step)
            left -= step

    def _is_woken(self, may_be_woken: bool) -> bool:
        return may_be_woken and self._calls.sleep(0.0)


class _WarningsCounted(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


@attrs.define(eq=False)
class Journey:
    """The parts of the process, and what they did.

    Attributes:
        stage: Where; its tables must be there.
        turn: Called each time that time has passed; what happens in the world.
        longest_step: Most seconds that pass at once.
    """

    stage: Stage
    turn: Callable[["Journey"], None]
    longest_step: float = 300.0
    time: VirtualTime = attrs.field(init=False)
    store: ClaimLog = attrs.field(init=False)
    publisher: SendLog = attrs.field(init=False)
    relay: TravellingRelay = attrs.field(init=False)
    eager: EagerOutboxPublisher = attrs.field(init=False)
    committed: int = attrs.field(default=0, init=False)
    _units_of_work: SqlAlchemyUnitsOfWork = attrs.field(init=False)
    _warnings: _WarningsCounted = attrs.field(factory=_WarningsCounted, init=False)

    def __attrs_post_init__(self) -> None:
        logging.basicConfig(level=logging.INFO, force=True)
        logging.getLogger("pragmatic_ddd").addHandler(self._warnings)
        accounts, outbox = self.stage.tables()
        map_account(accounts)
        engine = self.stage.engine(**({} if self.stage.database == "sqlite" else {"pool_size": 10}))
        self.time = VirtualTime(OutboxDatabase(engine, outbox))
        self.store = ClaimLog(engine, outbox, time=self.time)
        self.publisher = SendLog(
            publisher=JournalPublisher(
                port=self.stage.broker_port,
                topic=self.stage.name,
                timeout=self.stage.send_timeout,
                diary=self.stage.diary,
                failpoints=Failpoints.none(),
            ),
            time=self.time,
        )
        health = BrokerHealth(monotonic=self.time.monotonic)
        self.relay = TravellingRelay(
            store=self.store,
            publisher=self.publisher,
            config=self.stage.config,
            health=health,
            monotonic=self.time.monotonic,
            travel=self._travel,
            longest_step=self.longest_step,
        )
        self.eager = EagerOutboxPublisher(
            store=self.store,
            publisher=self.publisher,
            config=self.stage.config,
            health=health,
            monotonic=self.time.monotonic,
            wake_relay=self.relay.wake,
        )
        encoding = EventEncoding(serializer=OrjsonEventSerializer(EventTypeRegistry(Moved)))
        sessions = sessionmaker(engine)
        SqlAlchemyOutbox(store=self.store, encoding=encoding, eager=self.eager).attach(sessions)
        self._units_of_work = SqlAlchemyUnitsOfWork(sessions)

    def run(self) -> None:
        """Relay in this thread until the turn ends it, and end the eager publisher."""
        try:
            self.relay.run()
        finally:
            self.eager.shutdown()
            self.store.engine.dispose()

    def commit(self, account: str, *troubles: str) -> None:
        """Change an account: one event for each trouble."""
        change(self._units_of_work, account, troubles)
        self.committed += len(troubles)

    @property
    def elapsed(self) -> float:
        return self.time.passed

    @property
    def warnings(self) -> int:
        """How many warnings and errors were logged."""
        return self._warnings.count

    def by_status(self) -> dict[str, int]:
        status = self.store.table.c.status
        query = sa.select(status, sa.func.count()).group_by(status)
        with self.store.engine.connect() as connection:
            return dict(connection.execute(query).tuples().all())

    def most_attempts(self) -> int:
        with self.store.engine.connect() as connection:
            query = sa.select(sa.func.max(self.store.table.c.attempts))
            return int(connection.execute(query).scalar() or 0)

    def rows(self) -> list[Row]:
        """Return every row, in order."""
        columns = self.store.table.c
        query = sa.select(
            columns.message_id,
            columns.aggregate_id,
            columns.status,
            columns.attempts,
            columns.created_at,
            columns.sent_at,
        ).order_by(columns.id)
        with self.store.engine.connect() as connection:
            return [Row(*values) for values in connection.execute(query)]

    def _travel(self, seconds: float) -> None:
        self.eager.wait_until_idle(_PATIENCE)
        self.time.pass_time(dt.timedelta(seconds=seconds))
        self.turn(self)
