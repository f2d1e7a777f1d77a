"""Contention: many writers and relays on one outbox, and two relays on one hot aggregate."""

import datetime as dt
import json
import time
from collections.abc import Sequence
from pathlib import Path

import attrs

from pragmatic_ddd.application.outbox.config import OutboxRelayConfig
from tests.acceptance.faults.actors import Relay
from tests.acceptance.faults.broker.journal import Copy, copies
from tests.acceptance.faults.broker.process import instruct
from tests.acceptance.faults.broker.server import Conduct
from tests.acceptance.faults.crew import Crew
from tests.acceptance.faults.crowd import CrowdWriter
from tests.acceptance.faults.hot_drain import HotDrain
from tests.acceptance.faults.stage import Stage
from tests.acceptance.faults.verdict import judge

# Longer than any stall of a busy machine: nobody is out of its lease, and no copy is excused.
_CONFIG = OutboxRelayConfig(
    poll_interval=dt.timedelta(milliseconds=200),
    lease=dt.timedelta(seconds=60),
    grace=dt.timedelta(seconds=60),
    batch_size=100,
    backoff_base=dt.timedelta(milliseconds=50),
    backoff_cap=dt.timedelta(milliseconds=500),
)
_SEND_TIMEOUT = dt.timedelta(seconds=10)
_REFUSED_SHARE = 0.02
_HOT = [f"hot-{number}" for number in range(20)]


@attrs.frozen(kw_only=True)
class Contention:
    """The figures of one database.

    Attributes:
        events: Committed, by the crowd and in the drains.
        lost: Committed, and never seen by the broker.
        phantoms: Seen by the broker, and never committed; or stored without their change.
        duplicates: Further copies: nobody is out of its lease, so that none is excused.
        overtaken: First copies that came after a later event of their aggregate.
        errors: Errors that a process logged, that reached the caller of a commit, or by which a
            process ended; a run that was not over in its time is one, too.
        problems: What these were, as far as they are not in the log.
        two_relays_hot_1_vs_one: Rate of two relays on one hot aggregate, against that of one.
        lost_races: How often a writer had to repeat a change.
        events_per_second: Of the crowd, from the first copy to the last.
    """

    events: int
    lost: int
    phantoms: int
    duplicates: int
    overtaken: int
    errors: int
    problems: list[str]
    two_relays_hot_1_vs_one: float
    lost_races: int
    events_per_second: float


def run(database: str, *, quick: bool, folder: Path, broker_port: int) -> dict[str, object]:
    """Crowd one database, and return the figures of ``Contention``.

    Four writer and four relay processes (two and two on SQLite) share an outbox: half of the
    events belong to 20 hot accounts, half to unique ones, half of the writers push, and the
    broker refuses one message in fifty at first. Then one relay and two relays, in turn, drain
    one hot aggregate.

    Alone on two cores it takes one to two minutes for 20,000 events, and 20 s for the 2,000 of
    a quick run; after 25 minutes (4, if quick) it is given up, and that is an error.
    """
    stage = attrs.evolve(
        Stage.new(database, folder=folder, broker_port=broker_port, config=_CONFIG),
        send_timeout=_SEND_TIMEOUT,
        side_by_side=2,
    )
    drain = HotDrain(
        database=database,
        rows=1_000 if quick else 6_000,
        config=_CONFIG,
        folder=folder,
        broker_port=broker_port,
    )
    with stage.built():
        crowd = _Crowd(stage, 2_000 if quick else 20_000, seconds=240.0 if quick else 1500.0).run()
    drained = drain.measure()
    return attrs.asdict(
        attrs.evolve(
            crowd,
            events=crowd.events + drained.events,
            lost=crowd.lost + drained.lost,
            phantoms=crowd.phantoms + drained.phantoms,
            duplicates=crowd.duplicates + drained.duplicates,
            overtaken=crowd.overtaken + drained.overtaken,
            errors=crowd.errors + drained.errors,
            problems=[*crowd.problems, *drained.problems],
            two_relays_hot_1_vs_one=round(drained.two_against_one, 2),
        )
    )


@attrs.define(eq=False)
class _Crowd:
    stage: Stage
    events: int
    seconds: float

    def run(self) -> Contention:
        count = 2 if self.stage.database == "sqlite" else 4
        instruct(
            self.stage.broker_port, self.stage.name, Conduct(refuse_share=_REFUSED_SHARE, seed=1)
        )
        self.stage.open_accounts(_HOT)
        deadline = time.monotonic() + self.seconds
        with Crew(self.stage.log) as crew:
            relays = [
                crew.start(f"relay {number}", Relay(stage=self.stage)) for number in range(count)
            ]
            writers = [
                crew.start(f"writer {number}", self._writer(number, count))
                for number in range(count)
            ]
            if crew.wait(writers, deadline):
                crew.wait_for(lambda: not self.stage.unsent(), deadline, "everything to be sent")
            crew.end(relays)
        return self._figures(crew.problems)

    def _writer(self, number: int, count: int) -> CrowdWriter:
        # On MariaDB, rows are born owned at READ COMMITTED only; the default is tried, too.
        committed = self.stage.database == "mariadb" and number < count / 2
        return CrowdWriter(
            stage=self.stage,
            number=number,
            events=self.events // count,
            hot=_HOT,
            eager=number % 2 == 0,
            locks=number >= count / 2,
            isolation_level="READ COMMITTED" if committed else None,
        )

    def _figures(self, problems: list[str]) -> Contention:
        verdict, arrived = judge(self.stage, self.stage.journal), copies(self.stage.journal)
        notes = [one for one in self.stage.diary.read() if one.what == "counted"]
        return Contention(
            events=verdict.events,
            lost=verdict.lost,
            phantoms=verdict.phantoms,
            duplicates=verdict.duplicates,
            overtaken=verdict.overtaken,
            errors=verdict.errors + len(problems),
            problems=problems,
            two_relays_hot_1_vs_one=0.0,
            lost_races=sum(json.loads(one.text)["lost_races"] for one in notes),
            events_per_second=_rate(arrived),
        )


def _rate(arrived: Sequence[Copy]) -> float:
    return round(len(arrived) / (arrived[-1].at - arrived[0].at), 1) if arrived else 0.0
