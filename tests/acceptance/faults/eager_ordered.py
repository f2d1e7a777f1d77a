"""Eager and ordered: the eager path under failures and overflow, on accounts that all share."""

import datetime as dt
import statistics
import time
from pathlib import Path

import attrs

from pragmatic_ddd.application.outbox.config import EagerPoolConfig, OutboxRelayConfig
from tests.acceptance.faults.actors import Relay
from tests.acceptance.faults.application import Application
from tests.acceptance.faults.broker.process import instruct
from tests.acceptance.faults.broker.server import Conduct
from tests.acceptance.faults.crew import Crew
from tests.acceptance.faults.lateness import journeys, waited_without_need
from tests.acceptance.faults.stage import Stage
from tests.acceptance.faults.verdict import judge

_DATABASE = "postgresql"
_GRACE = dt.timedelta(seconds=10)
_ACCOUNTS = [f"account-{number}" for number in range(20)]
_EVENTS_PER_SECOND = 300.0
_ROUND_TRIP_SECONDS = 0.002

_CONFIG = OutboxRelayConfig(
    poll_interval=dt.timedelta(seconds=1),
    grace=_GRACE,
    lease=dt.timedelta(seconds=60),
    backoff_base=dt.timedelta(milliseconds=50),
    backoff_cap=dt.timedelta(milliseconds=500),
)
_SIDE_BY_SIDE = 8  # the relay must be able to catch up with what it was left
_SEND_TIMEOUT = dt.timedelta(seconds=3)


@attrs.frozen(kw_only=True)
class Variant:
    """One way in which applications are run.

    Attributes:
        name: For the table.
        applications: How many processes share the accounts.
        share: Of the events of the whole part.
        conduct: Of the broker.
        queue_size: Of each eager publisher.
        poll_interval: Of the relay.
        has_relay: Whether each application has a relay of its own, which it wakes; else there
            is a relay process that nobody wakes.
    """

    name: str
    applications: int
    share: float
    conduct: Conduct
    queue_size: int = 60
    poll_interval: dt.timedelta = _CONFIG.poll_interval
    has_relay: bool = False


_REFUSED = Variant(
    name="refused",
    applications=2,
    share=1.0,
    conduct=Conduct(refuse_share=0.05, delay_seconds=_ROUND_TRIP_SECONDS, seed=1),
)
# The confirmation is lost after the message was taken: what comes twice is excused.
_UNCONFIRMED = Variant(
    name="unconfirmed",
    applications=2,
    share=0.2,
    conduct=Conduct(lose_share=0.02, delay_seconds=_ROUND_TRIP_SECONDS, seed=2),
)
# The relay polls every five minutes: what has no room waits for nobody but the one who wakes it.
_WOKEN = Variant(
    name="woken",
    applications=1,
    share=0.2,
    conduct=Conduct(refuse_share=0.05, delay_seconds=_ROUND_TRIP_SECONDS, seed=3),
    queue_size=10,
    poll_interval=dt.timedelta(minutes=5),
    has_relay=True,
)


@attrs.frozen(kw_only=True)
class EagerOrdered:
    """The figures of one variant.

    Attributes:
        events: Committed.
        overtaken: First copies that came after a later event of their aggregate.
        lost: Committed, and never seen by the broker.
        duplicates_outside_window: Further copies that an unknown outcome does not excuse.
        errors: Errors that a process logged or ended by, or that reached a caller of ``commit``.
        problems: What these were, as far as they are not in the log.
        waited_for_grace: Arrived later than grace though nothing has hindered them.
        later_than_grace: Arrived later than grace, with or without an excuse.
        refused: Messages that the broker has not taken, each time counted.
        unconfirmed: Messages whose outcome stayed unknown to their sender.
        left_to_relay: Events for which the queue had no room.
        latency_p50_ms: From the insert of the row to the broker.
        latency_p99_ms: Likewise.
    """

    events: int
    overtaken: int
    lost: int
    duplicates_outside_window: int
    errors: int
    problems: list[str]
    waited_for_grace: int
    later_than_grace: int
    refused: int
    unconfirmed: int
    left_to_relay: int
    latency_p50_ms: float
    latency_p99_ms: float


def run(*, quick: bool, folder: Path, broker_port: int) -> dict[str, object]:
    """Run every variant on PostgreSQL; return the sums, the latency of the first, and each one.

    Two application processes of four threads change the same 20 accounts in bursts that their
    eager publishers have no room for, while the broker refuses one message in twenty. A relay
    process polls every second. Variants: confirmations get lost; one application whose own relay
    would sleep for minutes if it were not woken.

    At 300 events a second and process, it takes about 70 s for the 20,000 events of the first
    variant, and 20 s in all for the 3,000 of a quick run.
    """
    events = 3_000 if quick else 20_000
    results = {
        variant.name: _Run(variant, int(events * variant.share), folder, broker_port).run()
        for variant in (_REFUSED, _UNCONFIRMED, _WOKEN)
    }
    first = results[_REFUSED.name]
    return {
        "events": sum(one.events for one in results.values()),
        "overtaken": sum(one.overtaken for one in results.values()),
        "lost": sum(one.lost for one in results.values()),
        "waited_for_grace": sum(one.waited_for_grace for one in results.values()),
        "latency_p50_ms": first.latency_p50_ms,
        "latency_p99_ms": first.latency_p99_ms,
        "duplicates_outside_window": sum(one.duplicates_outside_window for one in results.values()),
        "errors": sum(one.errors for one in results.values()),
        "variants": {name: attrs.asdict(one) for name, one in results.items()},
    }


@attrs.define(eq=False)
class _Run:
    variant: Variant
    events: int
    folder: Path
    broker_port: int

    def run(self) -> EagerOrdered:
        config = attrs.evolve(_CONFIG, poll_interval=self.variant.poll_interval)
        stage = attrs.evolve(
            Stage.new(_DATABASE, folder=self.folder, broker_port=self.broker_port, config=config),
            pool=EagerPoolConfig(queue_size=self.variant.queue_size),
            send_timeout=_SEND_TIMEOUT,
            side_by_side=_SIDE_BY_SIDE,
        )
        instruct(self.broker_port, stage.name, self.variant.conduct)
        with stage.built():
            stage.open_accounts(_ACCOUNTS)
            return self._figures(stage, self._work(stage))

    def _work(self, stage: Stage) -> list[str]:
        deadline = time.monotonic() + 240.0 + 10 * self.events / _EVENTS_PER_SECOND
        with Crew(stage.log) as crew:
            relays = [] if self.variant.has_relay else [crew.start("the relay", Relay(stage=stage))]
            applications = [
                crew.start(f"application {number}", self._application(stage, number))
                for number in range(self.variant.applications)
            ]
            crew.wait(applications, deadline)
            crew.end(relays)
            return crew.problems

    def _application(self, stage: Stage, number: int) -> Application:
        return Application(
            stage=stage,
            number=number,
            accounts=_ACCOUNTS,
            events=self.events // self.variant.applications,
            events_per_second=_EVENTS_PER_SECOND / self.variant.applications,
            has_relay=self.variant.has_relay,
        )

    def _figures(self, stage: Stage, problems: list[str]) -> EagerOrdered:
        verdict, notes = judge(stage, stage.journal), stage.diary.read()
        made = journeys(stage, stage.journal)
        percentiles = statistics.quantiles([one.seconds for one in made], n=100)
        grace = _GRACE.total_seconds()

        def noted(what: str) -> int:
            return sum(len(one.event_ids) for one in notes if one.what == what)

        return EagerOrdered(
            events=verdict.events,
            overtaken=verdict.overtaken,
            lost=verdict.lost,
            duplicates_outside_window=verdict.outside_window,
            errors=verdict.errors + verdict.phantoms + len(problems),
            problems=problems,
            waited_for_grace=len(waited_without_need(made, notes, grace)),
            later_than_grace=sum(one.seconds > grace for one in made),
            refused=noted("refused"),
            unconfirmed=noted("unconfirmed"),
            left_to_relay=noted("left_to_relay"),
            latency_p50_ms=round(1000 * percentiles[49], 1),
            latency_p99_ms=round(1000 * percentiles[98], 1),
        )
