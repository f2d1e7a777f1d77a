"""Messages that no broker takes, beside healthy ones: while all is well, and while it flaps."""

from collections.abc import Callable
from pathlib import Path

import attrs

from pragmatic_ddd.application.outbox.config import OutboxRelayConfig
from tests.acceptance.faults.broker.process import BrokerProcess
from tests.acceptance.faults.figures import Figures
from tests.acceptance.faults.outage.journey import Journey
from tests.acceptance.faults.stage import Stage
from tests.acceptance.faults.verdict import judge

_ACCOUNTS = 20
_STEP_SECONDS = 10.0
_IDLE_SECONDS = 1200.0
# Ten tries that count, each after a backoff of five minutes at most, and some more.
_PATIENCE_SECONDS = _IDLE_SECONDS + 12 * 300.0
_PATIENCE_FLAPPING_SECONDS = 4 * 3600.0

# The one that makes the broker hang up, alone for a while, is taken for an outage: its tries then
# come at the pace of probes and backoff, and do not count. What is committed meanwhile waits for
# at most two probes.
_MOST_TRIES_OF_DROPPED = 40
_LONGEST_WAIT = 2 * 30.0 + _STEP_SECONDS
# A minute of outage, and the longest backoff.
_LONGEST_FLAP_WAIT = 60.0 + 300.0 + 30.0 + _STEP_SECONDS

# Of these accounts the second of four events is a poison: refused again and again, refused once
# and for all, and one that makes the broker hang up, so that the client cannot tell whose fault
# it is.
_TROUBLES = {"refused": "refuse always", "rejected": "reject", "dropped": "drop always"}
_POISON_PLACE = 1
_EVENTS = 4


@attrs.define(eq=False)
class _Poisoned:
    """What happens: some time with a poison and nothing else, then traffic until all are dead."""

    figures: Figures
    flap: Callable[[float], None]
    settle: Callable[[], None]
    patience_seconds: float
    _number: int = attrs.field(default=0, init=False)
    _is_settled: bool = attrs.field(default=False, init=False)

    def __call__(self, journey: Journey) -> None:
        if journey.elapsed < _IDLE_SECONDS:
            return
        if not self._number:
            for name in ("refused", "rejected"):
                journey.commit(name, *_events(name))
        statuses = journey.by_status()
        if statuses.get("FAILED", 0) < len(_TROUBLES):
            self.flap(journey.elapsed)
            journey.commit(f"account-{self._number % _ACCOUNTS}", "", "")
            self._number += 1
            if journey.elapsed > self.patience_seconds:
                self.figures.complain(f"a poison is not dead after hours: {statuses}")
                journey.relay.stop()
        elif not self._is_settled:
            self._is_settled = True
            self.settle()
        elif statuses.get("PENDING", 0) <= len(_TROUBLES) * (_EVENTS - _POISON_PLACE - 1):
            journey.relay.stop()
        elif journey.elapsed > self.patience_seconds + _PATIENCE_SECONDS:
            self.figures.complain(f"healthy rows are unsent: {statuses}")
            journey.relay.stop()


def poison(database: str, *, folder: Path, flapping: bool) -> Figures:
    """Commit poisons and healthy events until the poisons are dead, in this process.

    Args:
        database: One of ``DATABASES``.
        folder: For everything that it leaves.
        flapping: Whether the broker is killed and started every other minute meanwhile.
    """
    figures = Figures(f"poison {'flapping ' if flapping else ''}{database}")
    with BrokerProcess(folder) as broker:
        stage = Stage.new(
            database,
            folder=folder,
            broker_port=broker.port,
            config=OutboxRelayConfig.default_config(),
        )
        is_up = True

        def be(up: bool) -> None:
            nonlocal is_up
            if up != is_up:
                (broker.start if up else broker.kill)()
                is_up = up

        def flap(elapsed: float) -> None:
            if flapping:
                be(int(elapsed / 60.0) % 2 == 1)

        patience = _PATIENCE_FLAPPING_SECONDS if flapping else _PATIENCE_SECONDS
        story = _Poisoned(figures, flap, lambda: be(True), patience)
        with stage.built():
            journey = Journey(stage, story, longest_step=_STEP_SECONDS)
            journey.commit("dropped", *_events("dropped"))
            journey.run()
            _look_at(journey, figures, flapping=flapping)
            blocked = len(_TROUBLES) * (_EVENTS - _POISON_PLACE)
            figures.add_verdict(judge(stage, stage.journal), kept_back=blocked)
    return figures


def _look_at(journey: Journey, figures: Figures, *, flapping: bool) -> None:
    rows = journey.rows()
    expected = ["SENT"] * _POISON_PLACE + ["FAILED"]
    expected += ["PENDING"] * (_EVENTS - len(expected))
    counted = journey.stage.config.max_attempts
    attempts = {"refused": counted, "rejected": 1, "dropped": counted}
    for name in _TROUBLES:
        own = [row for row in rows if row.account == name]
        statuses = [row.status for row in own]
        if statuses != expected:
            figures.complain(f"the rows of {name} are {statuses}")
        dead = own[_POISON_PLACE]
        tries = [one.error for one in journey.publisher.sends if one.message_id == dead.message_id]
        figures[f"tries_of_{name}"] = len(tries)
        if dead.attempts != attempts[name]:
            figures.complain(f"{name} was FAILED after {dead.attempts} attempts")
    healthy = [row for row in rows if row.account not in _TROUBLES]
    figures["healthy"] = len(healthy)
    figures["healthy_unsent"] = sum(row.status != "SENT" for row in healthy)
    figures["healthy_attempts"] = max(row.attempts for row in healthy)
    figures["healthy_waited_s"] = round(max(row.waited_seconds for row in healthy), 1)
    figures["warnings"] = journey.warnings
    figures.expect_at_most("healthy_unsent", 0)
    figures.expect_at_most("healthy_attempts", 2 if flapping else 0)
    figures.expect_at_most("healthy_waited_s", _LONGEST_FLAP_WAIT if flapping else _LONGEST_WAIT)
    figures.expect_at_most("tries_of_rejected", counted if flapping else 1)
    if not flapping:
        figures.expect("tries_of_refused", counted)
        figures.expect_at_most("tries_of_dropped", _MOST_TRIES_OF_DROPPED)


def _events(account: str) -> list[str]:
    troubles = [""] * _EVENTS
    troubles[_POISON_PLACE] = _TROUBLES[account]
    return troubles
