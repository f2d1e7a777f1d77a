"""The processes around one failpoint: who is hit there, and who goes on."""

import contextlib
import datetime as dt
import signal
from collections import defaultdict
from pathlib import Path
from typing import NoReturn

import attrs

from pragmatic_ddd.application.outbox.config import EagerPoolConfig
from tests.acceptance.faults.actors import Consumer, Relay, Writer
from tests.acceptance.faults.broker.journal import copies
from tests.acceptance.faults.broker.process import instruct
from tests.acceptance.faults.broker.server import Conduct
from tests.acceptance.faults.children import Child, wait_for
from tests.acceptance.faults.crew import Crew
from tests.acceptance.faults.failpoints import Trap
from tests.acceptance.faults.kill.failpoint import RELAY, Failpoint
from tests.acceptance.faults.rows import Rows
from tests.acceptance.faults.stage import ShortLeases, Stage
from tests.acceptance.faults.verdict import Verdict, judge

LEASE = dt.timedelta(seconds=1)
POLL = dt.timedelta(seconds=0.2)
PATIENCE_SECONDS = 30.0

_CONFIG = ShortLeases(
    poll_interval=POLL,
    lease=LEASE,
    grace=LEASE,
    batch_size=4,  # so that there are some
    backoff_base=dt.timedelta(milliseconds=50),
    backoff_cap=dt.timedelta(milliseconds=200),
)


class UnreachedError(Exception):
    """The process has ended without having come to its failpoint: the run says nothing."""


class AstrayError(Exception):
    """A process has failed that was to go on."""


@attrs.frozen(kw_only=True)
class Task:
    """One hit at a failpoint: values only, for another process.

    Attributes:
        failpoint: Where.
        database: One of ``DATABASES``.
        passage: At which passage of the failpoint it happens, from 1.
        folder: Of the broker's journals; the run makes one of its own in it.
        broker_port: On 127.0.0.1.
    """

    failpoint: Failpoint
    database: str
    passage: int
    folder: Path
    broker_port: int

    def stage(self) -> Stage:
        stage = Stage.new(
            self.database, folder=self.folder, broker_port=self.broker_port, config=_CONFIG
        )
        return attrs.evolve(
            stage,
            pool=EagerPoolConfig(shutdown_timeout=dt.timedelta(milliseconds=60)),
            send_timeout=dt.timedelta(seconds=0.25),
        )

    def trap(self, hit: signal.Signals) -> Trap:
        return Trap(point=self.failpoint.point, nth=self.passage, signal=hit)


@attrs.define(eq=False)
class Play:
    """Who takes part, and how it goes on after the hit.

    Attributes:
        stage: Where.
        failpoint: What it is about.
        crew: Ends the processes.
        rows: Of the outbox.
        relay: The one that was started last.
        writer: The one that was started last.
    """

    stage: Stage
    failpoint: Failpoint
    crew: Crew
    rows: Rows = attrs.field(init=False)
    relay: Child = attrs.field(init=False)
    writer: Child = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.rows = Rows.of(self.stage)

    def behave(self, conduct: Conduct) -> None:
        """Have the broker behave like that from now on."""
        instruct(self.stage.broker_port, self.stage.name, conduct)

    def start_both(self, trap: Trap) -> Child:
        """Start consumer, relay and writer, one of the last two with the trap.

        Returns:
            That one.
        """
        self.behave(self.failpoint.scenario.conduct)
        self.crew.start("consumer", Consumer(stage=self.stage, applied=self._applied))
        is_relay = self.failpoint.role == RELAY
        self.start_relay(trap if is_relay else None)
        scenario = self.failpoint.scenario
        self.start_writer(scenario.transactions, None if is_relay else trap)
        if scenario.stops_relay:
            wait_for(
                lambda: bool(copies(self.stage.journal)) or self.relay.has_ended(),
                PATIENCE_SECONDS,
                "the first copy",
            )
            self.relay.send(signal.SIGTERM)
        return self.relay if is_relay else self.writer

    def start_relay(self, trap: Trap | None = None) -> float:
        """Start a relay; return when it was ready, in seconds of the wall clock."""
        self.relay = self.crew.start("relay", Relay(stage=self.stage, trap=trap))

        def ready() -> list[float]:
            notes = self.stage.diary.read()
            pid = self.relay.pid
            return [note.at for note in notes if note.what == "ready" and note.process == pid]

        wait_for(lambda: bool(ready()), PATIENCE_SECONDS, "the relay to be ready")
        return ready()[0]

    def start_writer(self, transactions: int, trap: Trap | None = None) -> None:
        scenario = self.failpoint.scenario
        writer = Writer(
            stage=self.stage,
            accounts=[f"account-{number}" for number in range(scenario.accounts)],
            changes=scenario.changes(transactions),
            eager=scenario.eager,
            waits=scenario.waits,
            spacing_seconds=scenario.spacing_seconds,
            trap=trap,
        )
        self.writer = self.crew.start("writer", writer)

    def run_to_the_end(self) -> None:
        """Wait until the writer has ended and everything is sent; then end the relay.

        Raises:
            AstrayError: The writer or the relay has failed.
            TimeoutError: It does not come to an end.
        """
        if self.writer.wait(PATIENCE_SECONDS):
            raise AstrayError(f"the writer ended by {self.writer.status}")
        wait_for(self.rows.all_are_sent, PATIENCE_SECONDS, "everything to be sent")
        if self.relay.end():
            raise AstrayError(f"the relay ended by {self.relay.status}")

    def raise_for_end_of(self, victim: Child) -> NoReturn:
        """Tell a process that was done too early from one that has failed.

        Raises:
            UnreachedError: It has ended well.
            AstrayError: It has not.
        """
        if victim.status == 0:
            raise UnreachedError(f"the {victim.name} was done; see {self.stage.folder}")
        raise AstrayError(f"the {victim.name} ended by {victim.status}")

    def judge(self, victim: Child) -> Verdict:
        return judge(self.stage, self.stage.journal, killed=[victim.pid])

    def was_applied(self, events: int) -> bool:
        """Say whether the consumer, which drops by id, applied each event once and in order."""
        with contextlib.suppress(TimeoutError):  # what is missing is seen below
            wait_for(lambda: self._applied.read_text().count("\n") >= events, 5.0, "the consumer")
        places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for line in self._applied.read_text().splitlines():
            account, version, index = line.split()
            places[account].append((int(version), int(index)))
        count = sum(len(one) for one in places.values())
        return count == events and all(one == sorted(set(one)) for one in places.values())

    @property
    def _applied(self) -> Path:
        return self.stage.folder / "applied.txt"
