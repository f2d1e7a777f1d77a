"""One kill: start everything, wait for the process to die, start it again, judge."""

import datetime as dt
import random
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import sqlalchemy as sa

from pragmatic_ddd.application.outbox.config import EagerPoolConfig
from pragmatic_ddd_sqlalchemy import SqlAlchemyOutboxStore
from tests.acceptance.faults.actors import Consumer, Relay, Writer
from tests.acceptance.faults.broker.journal import copies
from tests.acceptance.faults.broker.process import instruct
from tests.acceptance.faults.children import Child, wait_for
from tests.acceptance.faults.failpoints import Trap
from tests.acceptance.faults.kill.failpoint import RELAY, WRITER, Failpoint
from tests.acceptance.faults.stage import ShortLeases, Stage
from tests.acceptance.faults.verdict import Verdict, judge

LEASE = dt.timedelta(seconds=1)
POLL = dt.timedelta(seconds=0.2)
ALLOWED_SECONDS = POLL.total_seconds() + 1.0

_CONFIG = ShortLeases(
    poll_interval=POLL,
    lease=LEASE,
    grace=LEASE,
    batch_size=4,  # so that there are some
    backoff_base=dt.timedelta(milliseconds=50),
    backoff_cap=dt.timedelta(milliseconds=200),
)
_POOL = EagerPoolConfig(shutdown_timeout=dt.timedelta(milliseconds=60))
_SEND_TIMEOUT = dt.timedelta(seconds=0.2)
_PATIENCE_SECONDS = 30.0
_UNSENT = ("PENDING", "PROCESSING")


@attrs.frozen(kw_only=True)
class KillTask:
    """One kill to do: values only, for another process.

    Attributes:
        failpoint: Where.
        database: One of ``DATABASES``.
        seed: Of the passage at which it happens.
        folder: Of the broker's journals; the run makes one of its own in it.
        broker_port: On 127.0.0.1.
    """

    failpoint: Failpoint
    database: str
    seed: int
    folder: Path
    broker_port: int


@attrs.frozen(kw_only=True)
class KillRun:
    """What came of it.

    Attributes:
        task: What was done.
        verdict: What reached the broker.
        applied: Whether the consumer applied each event once, and in order.
        recovery_seconds: Longest time from when a row could be taken over until it arrived.
        problem: Why the run says nothing, if it does not.
    """

    task: KillTask
    verdict: Verdict | None
    applied: bool
    recovery_seconds: float
    problem: str


def kill(task: KillTask) -> KillRun:
    """Do it, in this process and its children."""
    stage = attrs.evolve(
        Stage.new(task.database, folder=task.folder, broker_port=task.broker_port, config=_CONFIG),
        pool=_POOL,
        send_timeout=_SEND_TIMEOUT,
    )
    with stage.built():
        return _Kill(task, stage).run()


@attrs.frozen
class _UnsentRow:
    message_id: str
    aggregate_id: str
    due_at: float


@attrs.define(eq=False)
class _Kill:
    task: KillTask
    stage: Stage
    _engine: sa.Engine = attrs.field(init=False)
    _outbox: sa.Table = attrs.field(init=False)
    _children: list[Child] = attrs.field(factory=list, init=False)
    _replayed_at: float = attrs.field(default=0.0, init=False)

    def __attrs_post_init__(self) -> None:
        self._engine = self.stage.judges_engine()
        self._outbox = self.stage.tables()[1]

    def run(self) -> KillRun:
        instruct(self.stage.broker_port, self.stage.name, self.task.failpoint.scenario.conduct)
        try:
            return self._run()
        except TimeoutError as error:
            return KillRun(
                task=self.task,
                verdict=None,
                applied=False,
                recovery_seconds=0.0,
                problem=f"{error}; see {self.stage.folder}",
            )
        finally:
            for child in self._children:
                child.send(signal.SIGKILL)
                child.wait(_PATIENCE_SECONDS)

    def _run(self) -> KillRun:
        failpoint, stage = self.task.failpoint, self.stage
        passage = random.Random(self.task.seed).randint(1, failpoint.passages)
        trap = Trap(point=failpoint.point, nth=passage)
        consumer = self._start("consumer", Consumer(stage=stage, applied=self._applied))
        relay = self._start(
            "relay", Relay(stage=stage, trap=trap if failpoint.role == RELAY else None)
        )
        self._wait_until_ready(1)
        writer = self._start(
            "writer",
            self._writer(
                failpoint.scenario.transactions, trap if failpoint.role == WRITER else None
            ),
        )
        if failpoint.scenario.stops_relay:
            wait_for(lambda: bool(copies(self._journal)), _PATIENCE_SECONDS, "the first copy")
            relay.send(signal.SIGTERM)
        victim = relay if failpoint.role == RELAY else writer
        status = victim.wait(_PATIENCE_SECONDS)
        died_at = time.time()
        if status != -signal.SIGKILL:
            raise TimeoutError(f"{failpoint.name} was not reached: the process ended by {status}")
        unsent = self._unsent()
        if victim is relay:
            relay = self._start("relay", Relay(stage=stage))
            died_at = max(died_at, self._wait_until_ready(2))
        else:
            writer = self._start("writer", self._writer(failpoint.scenario.accounts, None))
        if writer.wait(_PATIENCE_SECONDS):
            raise TimeoutError(f"the writer ended by {writer.status}")
        wait_for(self._all_is_sent, _PATIENCE_SECONDS, "everything to be sent")
        relay.end()
        recovery = self._recovery(unsent, died_at)
        verdict = judge(stage, self._journal, killed=[victim.pid])
        wait_for(lambda: self._applied_lines() >= verdict.events, 5.0, "the consumer")
        consumer.send(signal.SIGKILL)
        return KillRun(
            task=self.task,
            verdict=verdict,
            applied=self._was_applied_once_in_order(verdict.events),
            recovery_seconds=recovery,
            problem="",
        )

    @property
    def _journal(self) -> Path:
        return self.task.folder / f"{self.stage.name}.jsonl"

    @property
    def _applied(self) -> Path:
        return self.stage.folder / "applied.txt"

    def _start(self, name: str, work: Callable[[], None]) -> Child:
        child = Child.start(name, work, log=self.stage.log)
        self._children.append(child)
        return child

    def _writer(self, transactions: int, trap: Trap | None) -> Writer:
        scenario = self.task.failpoint.scenario
        return Writer(
            stage=self.stage,
            accounts=[f"account-{number}" for number in range(scenario.accounts)],
            changes=scenario.changes(transactions),
            eager=scenario.eager,
            waits=scenario.waits,
            trap=trap,
        )

    def _wait_until_ready(self, count: int) -> float:
        """Wait until that many relays have said that they are ready, and return when."""

        def times() -> list[float]:
            return [note.at for note in self.stage.diary.read() if note.what == "ready"]

        wait_for(lambda: len(times()) >= count, _PATIENCE_SECONDS, "the relay to be ready")
        return max(times())

    def _unsent(self) -> list[_UnsentRow]:
        """Return the unsent rows, in order; their due times in seconds of the wall clock."""
        outbox = self._outbox.c
        query = (
            sa.select(outbox.message_id, outbox.aggregate_id, outbox.due_at)
            .where(outbox.status.in_(_UNSENT))
            .order_by(outbox.id)
        )
        with self._engine.connect() as connection:
            return [
                _UnsentRow(message_id, aggregate_id, _seconds(due_at))
                for message_id, aggregate_id, due_at in connection.execute(query)
            ]

    def _all_is_sent(self) -> bool:
        """Say whether nothing is left to send; as its operator, replay what is FAILED."""
        outbox = self._outbox.c
        query = sa.select(outbox.status, outbox.message_id).where(outbox.status != "SENT")
        with self._engine.connect() as connection:
            left = connection.execute(query).all()
        failed = [message_id for status, message_id in left if status == "FAILED"]
        if failed:
            SqlAlchemyOutboxStore(self._engine, self._outbox).replay(failed)
            self._replayed_at = time.time()
        return not left

    def _recovery(self, unsent: Sequence[_UnsentRow], died_at: float) -> float:
        """Return the longest time from when a row could be had until its last copy arrived.

        It could be had when its process had died (and the relay was there again), its lease and
        those of its elders were over, and the operator had replayed what was dead.
        """
        last_copy = {copy.event_id: copy.at for copy in copies(self._journal)}
        free_at: dict[str, float] = {}
        longest = 0.0
        for row in unsent:
            free_at[row.aggregate_id] = max(
                row.due_at, died_at, self._replayed_at, free_at.get(row.aggregate_id, 0.0)
            )
            if row.message_id in last_copy:
                longest = max(longest, last_copy[row.message_id] - free_at[row.aggregate_id])
        return longest

    def _applied_lines(self) -> int:
        return self._applied.read_text().count("\n")

    def _was_applied_once_in_order(self, events: int) -> bool:
        places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for line in self._applied.read_text().splitlines():
            account, version, index = line.split()
            places[account].append((int(version), int(index)))
        counts = sum(len(one) for one in places.values())
        return counts == events and all(one == sorted(set(one)) for one in places.values())


def _seconds(value: dt.datetime) -> float:
    """Return a time of the database, which is in UTC, in seconds of the wall clock."""
    return (value if value.tzinfo else value.replace(tzinfo=dt.UTC)).timestamp()
