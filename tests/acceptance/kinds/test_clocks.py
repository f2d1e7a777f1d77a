"""No host's clock decides who owns a row or how long a relay sleeps."""

import ast
import datetime as dt
from pathlib import Path

import pytest

import pragmatic_ddd.application
import pragmatic_ddd_relay
import pragmatic_ddd_sqlalchemy
from pragmatic_ddd.application.outbox import OutboxRelay, OutboxRelayConfig
from pragmatic_ddd.application.wake_up import WakeUp
from pragmatic_ddd.testing.faults import ScriptedPublisher, takes
from pragmatic_ddd.testing.messages import a_message
from tests.acceptance.kinds.virtual_time import VirtualTime
from tests.databases import OutboxDatabase
from tests.unit.application.outbox.builders import seconds

_WALL_CLOCKS = {"now", "utcnow", "today", "time_ns", "localtime", "gmtime"}
_THE_CLOCK = "clock.py"  # the port's: what an application asks for the time of its domain


def _wall_clock_readings(file: Path) -> list[str]:
    calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    return [
        f"{file.name}:{call.lineno}: {ast.unparse(call)}"
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and (call.func.attr in _WALL_CLOCKS or ast.unparse(call.func) == "time.time")
    ]


@pytest.mark.parametrize(
    "package", [pragmatic_ddd.application, pragmatic_ddd_relay, pragmatic_ddd_sqlalchemy]
)
def test_the_outbox_reads_no_wall_clock(package: object) -> None:
    (folder,) = package.__path__  # type: ignore[attr-defined]  # it is a package
    files = [file for file in Path(folder).rglob("*.py") if file.name != _THE_CLOCK]

    assert len(files) > 5
    assert [reading for file in files for reading in _wall_clock_readings(file)] == []


def test_a_clock_that_differs_by_hours_takes_no_live_lease(virtual: VirtualTime) -> None:
    """A host's monotonic clock may stand anywhere; the row's lease is the database's."""
    config = OutboxRelayConfig(lease=seconds(30), grace=seconds(30), batch_size=10)
    store, owner = virtual.store(), ScriptedPublisher()
    others = [
        OutboxRelay(
            store=virtual.database.store(),
            publisher=ScriptedPublisher(),
            config=config,
            monotonic=monotonic,
        )
        for monotonic in (
            lambda: virtual.monotonic() - 36_000.0,
            lambda: virtual.monotonic() + 36_000.0,
        )
    ]
    store.store([a_message("m1")])
    relay = OutboxRelay(store=store, publisher=owner, config=config, monotonic=virtual.monotonic)
    claimed: list[int] = []

    def pass_time(duration: dt.timedelta) -> None:
        virtual.pass_time(duration)
        claimed.extend(other.run_once().claimed for other in others)

    owner.next(takes(seconds(25), pass_time))

    assert relay.run_once().sent == 1
    assert claimed == [0, 0]


def test_a_database_clock_that_steps_back_an_hour_delays_nothing_for_an_hour(
    database: OutboxDatabase,
) -> None:
    store = database.store()
    config = OutboxRelayConfig(poll_interval=seconds(60), lease=seconds(30), grace=seconds(30))
    publisher = ScriptedPublisher()
    relay = OutboxRelay(store=store, publisher=publisher, config=config)
    store.store([a_message("m1")])
    database.pass_time(-dt.timedelta(hours=3))

    backlog, due_in = store.backlog(), store.next_due_in()

    assert (backlog.pending, backlog.oldest_unsent_age) == (1, dt.timedelta())
    assert due_in is not None
    assert due_in > dt.timedelta()
    # What a relay does before its next sleep, which is never longer than its poll interval.
    assert relay.run_once().claimed == 0
    store.tidy()
    assert relay.run_once().sent == 1


def test_a_sleep_of_nothing_or_less_ends_at_once() -> None:
    assert WakeUp().sleep(-3600.0) is False
