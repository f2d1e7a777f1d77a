"""A database that is killed and started under writers and relay."""

import datetime as dt
import time
from collections.abc import Sequence
from pathlib import Path

import attrs
import sqlalchemy as sa

from tests.acceptance.faults.actors import Relay
from tests.acceptance.faults.broker.journal import copies
from tests.acceptance.faults.children import wait_for
from tests.acceptance.faults.crew import Crew
from tests.acceptance.faults.figures import Figures
from tests.acceptance.faults.restart.own_service import OwnService
from tests.acceptance.faults.restart.steady_writer import SteadyWriter
from tests.acceptance.faults.rows import Rows
from tests.acceptance.faults.stage import ShortLeases, Stage, seconds_of
from tests.acceptance.faults.verdict import judge

_LEASE = dt.timedelta(seconds=2)
_POLL = dt.timedelta(seconds=0.5)
_SEND_TIMEOUT = dt.timedelta(seconds=0.4)
_ALLOWED_SECONDS = (_LEASE + _POLL).total_seconds() + 1.0
_CONFIG = ShortLeases(
    poll_interval=_POLL,
    lease=_LEASE,
    grace=_LEASE,
    batch_size=50,
    backoff_base=dt.timedelta(milliseconds=50),
    backoff_cap=dt.timedelta(milliseconds=500),
)
_ACCOUNTS = {name: [f"{name}-{number}" for number in range(10)] for name in ("eager", "relayed")}
_COPIES_BETWEEN = 200
_PATIENCE_SECONDS = 60.0
# A process logs a failure that repeats itself once; its pool, each connection that it gives up.
_MOST_ERRORS_PER_PROCESS = 15


@attrs.frozen
class Absence:
    """How the database goes, and for how long."""

    kill: bool
    away_seconds: float


def restarted(
    database: str, absences: Sequence[Absence], *, folder: Path, broker_port: int
) -> Figures:
    """Have the database of this checkout go and come while two writers and a relay work.

    One of the writers has the eager path on.

    Args:
        database: ``postgresql`` or ``mariadb``.
        absences: One after another; the processes get on between them.
        folder: For logs and figures.
        broker_port: Of a broker with its journals in that folder.
    """
    figures = Figures(f"restart {database}")
    server = OwnService.of(database)
    stage = attrs.evolve(
        Stage.new(database, folder=folder, broker_port=broker_port, config=_CONFIG),
        send_timeout=_SEND_TIMEOUT,
    )
    with server.kept_up(), stage.built(), Crew(stage.log) as crew:
        relay = crew.start("relay", Relay(stage=stage))
        writers = [
            crew.start(name, SteadyWriter(stage=stage, accounts=accounts, eager=name == "eager"))
            for name, accounts in _ACCOUNTS.items()
        ]
        story = _Story(stage, server, figures)
        try:
            story.wait_for_copies(_COPIES_BETWEEN)
            for absence in absences:
                story.go_through(absence)
            if database == "postgresql":
                story.be_read_only_for_a_while()
            crew.end(writers)
            wait_for(story.nothing_is_unsent, _PATIENCE_SECONDS, "everything to be sent")
        except TimeoutError as error:
            figures.complain(f"{error}; see {stage.folder}")
        crew.end([relay])
        for problem in crew.problems:
            figures.complain(problem)
        server.server.start()
        story.look_back()
    return figures


@attrs.define(eq=False)
class _Story:
    stage: Stage
    server: OwnService
    figures: Figures
    _rows: Rows = attrs.field(init=False)
    _waiting: list[tuple[float, list[str]]] = attrs.field(factory=list, init=False)
    _went_on: list[float] = attrs.field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._rows = Rows.of(self.stage)

    def go_through(self, absence: Absence) -> None:
        back_at = self.server.restart(kill=absence.kill, away_seconds=absence.away_seconds)
        self._go_on(back_at)

    def be_read_only_for_a_while(self) -> None:
        """Have every session of the server, after a restart, be one that may not write."""
        self._alter("SET default_transaction_read_only = on")
        try:
            self.server.restart(kill=True, away_seconds=0.0)
            time.sleep(2.0)
        finally:
            self._alter("RESET default_transaction_read_only")
        self._go_on(time.time())

    def wait_for_copies(self, count: int) -> None:
        """Wait until the broker has got that many more."""
        reached = len(copies(self.stage.journal)) + count
        wait_for(
            lambda: len(copies(self.stage.journal)) >= reached,
            _PATIENCE_SECONDS,
            f"the writers and the relay to get on ({reached} copies)",
        )

    def nothing_is_unsent(self) -> bool:
        return not self._rows.unsent()

    def look_back(self) -> None:
        """Judge everything; the processes have ended."""
        figures = self.figures
        figures.add_verdict(judge(self.stage, self.stage.journal))
        diary = self.stage.diary
        for name in ("acknowledged", "retries", "commits_of_unknown_outcome"):
            figures[name] = diary.counts(name)
        figures["errors_logged"] = sum(note.what == "error" for note in diary.read())
        figures["failed"] = self._count("FAILED")
        figures["went_on_s"] = [round(one, 2) for one in self._went_on]
        figures["recovery_s"] = self._recovery()
        figures["recovery_allowed_s"] = _ALLOWED_SECONDS
        figures.expect("acknowledged", figures["events"])
        figures.expect("failed", 0)
        most = (len(_ACCOUNTS) + 1) * len(self._went_on) * _MOST_ERRORS_PER_PROCESS
        figures.expect_at_most("errors_logged", most)

    def _go_on(self, back_at: float) -> None:
        waiting = {row.message_id for row in self._rows.unsent()}
        self._waiting.append((back_at, sorted(waiting)))
        before = len(copies(self.stage.journal))
        self.wait_for_copies(_COPIES_BETWEEN)
        # What is still on its way would count the next absence as its own.
        wait_for(
            lambda: not waiting & {row.message_id for row in self._rows.unsent()},
            _PATIENCE_SECONDS,
            "what was unsent when the database came back",
        )
        self._went_on.append(copies(self.stage.journal)[before].at - back_at)

    def _recovery(self) -> float:
        """Return the longest time from when the database was back until a row of then was sent."""
        columns = self._rows.outbox.c
        with self._rows.engine.connect() as connection:
            query = sa.select(columns.message_id, columns.sent_at)
            sent_at = dict(connection.execute(query).tuples().all())
        longest = 0.0
        for back_at, message_ids in self._waiting:
            for message_id in message_ids:
                if (at := sent_at.get(message_id)) is not None:
                    longest = max(longest, seconds_of(at) - back_at)
        return round(longest, 2)

    def _count(self, status: str) -> int:
        query = sa.select(sa.func.count()).where(self._rows.outbox.c.status == status)
        with self._rows.engine.connect() as connection:
            return int(connection.execute(query).scalar_one())

    def _alter(self, change: str) -> None:
        engine = self._rows.engine.execution_options(isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sa.text("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE"))
            name = connection.execute(sa.text("SELECT current_database()")).scalar_one()
            connection.execute(sa.text(f'ALTER DATABASE "{name}" {change}'))
