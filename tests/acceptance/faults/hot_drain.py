"""How fast one relay drains one hot aggregate, and how fast two of them do."""

import statistics
import time
from pathlib import Path

import attrs

from pragmatic_ddd.application.outbox.config import OutboxRelayConfig
from pragmatic_ddd.testing.messages import a_message
from pragmatic_ddd_sqlalchemy import SqlAlchemyOutboxStore
from tests.acceptance.faults.broker.journal import copies
from tests.acceptance.faults.crew import Crew
from tests.acceptance.faults.crowd import HeldRelay
from tests.acceptance.faults.stage import Stage
from tests.acceptance.faults.verdict import Verdict, judge

_ACCOUNT = "hot"
_ROUNDS = 3
_PATIENCE_SECONDS = 120.0


@attrs.frozen(kw_only=True)
class Drained:
    """What came of all drains together; see ``Contention``."""

    events: int
    lost: int
    phantoms: int
    duplicates: int
    overtaken: int
    errors: int
    problems: list[str]
    two_against_one: float


@attrs.define(eq=False, kw_only=True)
class HotDrain:
    """Drains the same number of rows by one relay process and by two, in turn.

    Attributes:
        database: One of ``DATABASES``.
        rows: Events of the one aggregate, stored beforehand and without an owner.
        config: Of the relays.
        folder: Of the broker's journals.
        broker_port: On 127.0.0.1.
    """

    database: str
    rows: int
    config: OutboxRelayConfig
    folder: Path
    broker_port: int
    _verdicts: list[Verdict] = attrs.field(factory=list, init=False)
    _problems: list[str] = attrs.field(factory=list, init=False)

    def measure(self) -> Drained:
        """Measure each three times, and compare the medians."""
        rates: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(_ROUNDS):
            for relays, measured in rates.items():
                measured.append(self._drain(relays))
        one, two = statistics.median(rates[1]), statistics.median(rates[2])
        return Drained(
            events=sum(verdict.events for verdict in self._verdicts),
            lost=sum(verdict.lost for verdict in self._verdicts),
            phantoms=sum(verdict.phantoms for verdict in self._verdicts),
            duplicates=sum(verdict.duplicates for verdict in self._verdicts),
            overtaken=sum(verdict.overtaken for verdict in self._verdicts),
            errors=sum(verdict.errors for verdict in self._verdicts) + len(self._problems),
            problems=self._problems,
            two_against_one=two / one if one else 0.0,
        )

    def _drain(self, count: int) -> float:
        """Return events per second; 0 if the time was over before."""
        stage = Stage.new(
            self.database, folder=self.folder, broker_port=self.broker_port, config=self.config
        )
        gate = stage.folder / "gate"
        deadline = time.monotonic() + _PATIENCE_SECONDS
        with stage.built(), Crew(stage.log) as crew:
            self._store(stage)
            relays = [
                crew.start(f"relay {number}", HeldRelay(stage=stage, gate=gate))
                for number in range(count)
            ]
            crew.wait_for(lambda: len(stage.diary.read()) >= count, deadline, "the relays")
            gate.touch()
            begun = time.time()
            is_drained = crew.wait_for(lambda: not stage.unsent(), deadline, "an empty outbox")
            crew.end(relays)
            self._verdicts.append(judge(stage, stage.journal))
            self._problems += crew.problems
        return self.rows / (copies(stage.journal)[-1].at - begun) if is_drained else 0.0

    def _store(self, stage: Stage) -> None:
        stage.open_accounts([_ACCOUNT], moves=self.rows)
        SqlAlchemyOutboxStore(stage.judges_engine(), stage.tables()[1]).store(
            [
                a_message(of=_ACCOUNT, version=version, payload=b"{}")
                for version in range(1, self.rows + 1)
            ]
        )
