"""A broker that is away, or silent, for hours; rows are committed all the while."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import attrs

from pragmatic_ddd.application.outbox.config import OutboxRelayConfig
from tests.acceptance.faults.broker.process import BrokerProcess, instruct
from tests.acceptance.faults.broker.server import Conduct
from tests.acceptance.faults.figures import Figures
from tests.acceptance.faults.outage.journey import Journey
from tests.acceptance.faults.stage import Stage
from tests.acceptance.faults.verdict import judge

ROWS = 1000
_AT_ONCE = 600
_ACCOUNTS = 100
_PATIENCE_SECONDS = 3600.0

# A process probes after 1, 2, 4, … 30 seconds, each less up to half of it.
_SHORTEST_PROBE_PAUSE = 15.0
_PROBES_UNTIL_THEN = 7
# Sends that are under way when the outage is noticed: of the workers, three in a row each at most.
_UNDER_WAY = 12
_MOST_WARNINGS = 5


@attrs.define(eq=False)
class _Absence:
    """What happens: the broker is gone before the first turn, and comes back later."""

    seconds: float
    come_back: Callable[[], None]
    figures: Figures
    _returned: int = attrs.field(default=-1, init=False)

    def __call__(self, journey: Journey) -> None:
        if self._returned < 0:
            during = (ROWS - _AT_ONCE) * min(1.0, journey.elapsed / (0.9 * self.seconds))
            _commit(journey, _AT_ONCE + int(during))
            if journey.elapsed >= self.seconds:
                self._look_back(journey)
                self.come_back()
                self._returned = len(journey.store.asked)
        elif not {"PENDING", "PROCESSING"} & journey.by_status().keys():
            self._look_at_the_ramp(journey)
            journey.relay.stop()
        elif journey.elapsed > self.seconds + _PATIENCE_SECONDS:
            self.figures.complain("rows are still unsent an hour after the broker is back")
            journey.relay.stop()

    def _look_back(self, journey: Journey) -> None:
        """Judge the time of the outage."""
        sends = journey.publisher.sends
        figures = self.figures
        age = journey.store.backlog().oldest_unsent_age.total_seconds()
        figures["hours"] = round(age / 3600, 2)
        figures["sends_while_away"] = len(sends)
        later = [send.at for send in sends if send.at >= 60.0]
        figures["most_sends_in_a_minute"] = max(
            (sum(start <= at < start + 60.0 for at in later) for start in later), default=0
        )
        figures["attempts_counted"] = journey.most_attempts()
        figures["warnings"] = journey.warnings
        figures["rounds"] = journey.relay.rounds
        probes = self.seconds / _SHORTEST_PROBE_PAUSE + _PROBES_UNTIL_THEN
        figures.expect_at_most("sends_while_away", probes + _UNDER_WAY)
        figures.expect_at_most("most_sends_in_a_minute", 60.0 / _SHORTEST_PROBE_PAUSE + 1)
        figures.expect_at_most("attempts_counted", 0)
        figures.expect_at_most("warnings", _MOST_WARNINGS)
        # A round for each probe, and one for each time that a commit or a probe wakes the relay.
        figures.expect_at_most("rounds", 3 * probes + ROWS)
        if len(sends) < self.seconds / 60.0:
            figures.complain(f"only {len(sends)} sends: the broker was hardly probed")
        if age < 0.99 * self.seconds:
            figures.complain(f"the oldest row was {age:.0f} s old: time did not pass")
        if any(not send.error for send in sends):
            figures.complain("a send was confirmed while the broker was away")

    def _look_at_the_ramp(self, journey: Journey) -> None:
        asked = journey.store.asked[self._returned :]
        self.figures["batches_after"] = asked[:12]
        self.figures["drained_after_s"] = round(journey.elapsed - self.seconds)
        limit = journey.stage.config.batch_size
        expected, size = [1], 1
        while size < limit:
            size = min(2 * size, limit)
            expected.append(size)
        # A batch that was not all sent repeats its size.
        if asked != sorted(asked) or list(dict.fromkeys(asked)) != expected:
            self.figures.complain(f"no ramp after the outage: batches of {asked[:12]}")


def absence(database: str, *, folder: Path, seconds: float, silent: bool) -> Figures:
    """Have a broker be away for that long, in this process.

    Args:
        database: One of ``DATABASES``.
        folder: For everything that it leaves.
        seconds: In virtual time.
        silent: Whether the broker takes every message and confirms none; else it is dead.
    """
    figures = Figures(f"{'silent' if silent else 'away'} {database}")
    with BrokerProcess(folder) as broker:
        stage = attrs.evolve(
            Stage.new(
                database,
                folder=folder,
                broker_port=broker.port,
                config=OutboxRelayConfig.default_config(),
            ),
            send_timeout=dt.timedelta(seconds=0.1 if silent else 1.0),
        )
        come_back: Callable[[], None]
        if silent:
            instruct(broker.port, stage.name, Conduct(silent=True))

            def come_back() -> None:
                instruct(broker.port, stage.name, Conduct())
        else:
            broker.kill()
            come_back = broker.start
        with stage.built():
            journey = Journey(stage, _Absence(seconds, come_back, figures))
            _commit(journey, _AT_ONCE)
            journey.run()
            by_status = journey.by_status()
            figures["rows"] = sum(by_status.values())
            figures["failed_by_outage"] = by_status.get("FAILED", 0)
            figures["sent_after"] = by_status.get("SENT", 0)
            figures.add_verdict(judge(stage, stage.journal))
    figures.expect("rows", ROWS)
    figures.expect("sent_after", ROWS)
    figures.expect_at_most("failed_by_outage", 0)
    # Copies of what was taken and not confirmed: no more than there were probes.
    figures.expect_at_most("duplicates", figures["sends_while_away"] if silent else 0)
    return figures


def _commit(journey: Journey, rows: int) -> None:
    """Commit, in twos, until there are that many."""
    while journey.committed < rows:
        journey.commit(f"account-{journey.committed // 2 % _ACCOUNTS}", "", "")
