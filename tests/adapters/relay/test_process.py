"""``python -m pragmatic_ddd_relay``, as a process."""

import datetime as dt
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.unit.application.outbox.builders import eventually

_ROOT = Path(__file__).parents[3]
_TIMEOUT_SECONDS = 40
_APPS = "tests.adapters.relay.apps"


class Process:
    """A relay process, and what it has said so far."""

    def __init__(self, arguments: Sequence[str], folder: Path) -> None:
        self._out, self._err = folder / "stdout", folder / "stderr"
        self.gate = folder / "gate"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pragmatic_ddd_relay", *arguments],
                cwd=_ROOT,
                env=os.environ
                | {"PYTHONPATH": f"{_ROOT}:{_ROOT / 'adapters'}", "GATE": str(self.gate)},
                stdout=out,
                stderr=err,
            )

    def said(self) -> list[str]:
        return self._out.read_text().splitlines()

    def logged(self) -> str:
        return self._err.read_text()

    def says(self, line: str) -> None:
        eventually(
            lambda: line in self.said() or self._process.poll() is not None,
            within=dt.timedelta(seconds=_TIMEOUT_SECONDS),
        )
        assert line in self.said(), self.logged()

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def exit_code(self) -> int:
        return self._process.wait(_TIMEOUT_SECONDS)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class Start:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.started: list[Process] = []

    def __call__(self, *arguments: str) -> Process:
        folder = self._folder / str(len(self.started))
        folder.mkdir()
        self.started.append(Process(arguments, folder))
        return self.started[-1]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    start = Start(tmp_path)
    yield start
    for process in start.started:
        process.kill()


def run(start: Start, factory: str, *options: str) -> Process:
    return start("run", "--app", f"{_APPS}:{factory}", *options)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_finishes_the_send_in_hand_and_gives_back_the_rest(
    start: Start, number: int
) -> None:
    process = run(start, "slow")
    process.says("publishing m0")

    process.signal(number)
    eventually(lambda: signal.Signals(number).name in process.logged())
    process.gate.touch()

    assert process.exit_code() == 0
    assert process.said() == [
        "start a",
        "start b",
        "publishing m0",
        "published m0",
        "released 1",
        "shutdown b",
        "shutdown a",
    ]


def test_a_signal_cuts_the_sleep_short(start: Start) -> None:
    process = run(start, "idle")
    process.says("ready")

    process.signal(signal.SIGTERM)

    assert process.exit_code() == 0
    assert process.said() == ["ready", "shutdown a"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_leaves_at_once(start: Start, number: int) -> None:
    process = run(start, "slow")
    process.says("publishing m0")
    process.signal(signal.SIGTERM)
    eventually(lambda: "SIGTERM" in process.logged())

    process.signal(number)

    assert process.exit_code() == 128 + number
    assert "published m0" not in process.said()


def test_once_runs_until_nothing_is_due(start: Start) -> None:
    process = run(start, "with_lifecycles", "--once")

    assert process.exit_code() == 0
    assert process.said() == [
        "start a",
        "start b",
        *[f"{what} m{number}" for number in range(3) for what in ("publishing", "published")],
        "shutdown b",
        "shutdown a",
    ]


def test_once_fails_where_something_due_cannot_be_sent(start: Start) -> None:
    process = run(start, "broker_away", "--once")

    assert process.exit_code() == 1
    assert "the broker is away: what is due stays in the outbox" in process.logged()


def test_once_says_in_one_sentence_that_the_database_is_away(start: Start) -> None:
    process = run(start, "database_away", "--once")

    assert process.exit_code() == 1
    (line,) = process.logged().splitlines()
    assert "the relay process failed: no such table: outbox LINE 1: xxx" in line
    assert line.endswith("x…")
    assert len(line) < 1200


def test_once_does_not_turn_in_circles_where_no_send_would_end_within_its_lease(
    start: Start,
) -> None:
    process = run(start, "never_in_time", "--once")

    assert process.exit_code() == 1
    assert process.said() == ["released 2"]
    assert "2 messages are due and cannot be sent" in process.logged()


def test_what_cannot_start_is_logged_and_what_was_started_is_shut_down(start: Start) -> None:
    process = run(start, "cannot_start")

    assert process.exit_code() == 1
    assert process.said() == ["start a", "start b", "shutdown a"]
    logged = process.logged()
    assert "ERROR pragmatic_ddd_relay.service: the relay process failed\n" in logged
    assert "\n    Traceback (most recent call last):\n" in logged
    assert "\n    RuntimeError: b cannot start\n" in logged


def test_what_cannot_end_does_not_keep_the_others_from_ending(start: Start) -> None:
    process = run(start, "cannot_end", "--once")

    assert process.exit_code() == 1
    assert process.said()[-2:] == ["shutdown b", "shutdown a"]
    assert "RuntimeError: b cannot end" in process.logged()


def test_what_cannot_end_for_a_known_reason_is_one_sentence(start: Start) -> None:
    process = run(start, "cannot_end_as_expected", "--once")

    assert process.exit_code() == 1
    assert process.logged().splitlines()[-1].endswith("could not be shut down: a cannot end")
    assert "Traceback" not in process.logged()


def test_it_ends_though_a_native_client_hangs_in_its_destructor(start: Start) -> None:
    process = run(start, "hangs_in_a_destructor", "--once")

    assert process.exit_code() == 0
    assert "published m2" in process.said()


def test_what_was_registered_for_the_end_is_called(start: Start) -> None:
    process = run(start, "says_goodbye", "--once")

    assert process.exit_code() == 0
    assert process.said() == ["goodbye"]


def test_a_traceback_follows_its_record_line_by_line_and_cannot_be_taken_for_one(
    start: Start,
) -> None:
    process = run(start, "logs_a_traceback", "--once")

    assert process.exit_code() == 0
    first, *others = process.logged().splitlines()
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ERROR shop: it failed\\nin two lines", first
    )
    assert others[0] == "    Traceback (most recent call last):"
    assert others[-2:] == ["    ZeroDivisionError: a bug", "    in two lines"]
    assert all(line.startswith("    ") for line in others)


def test_the_log_level_can_be_chosen(start: Start) -> None:
    process = run(start, "logs_a_traceback", "--once", "--log-level", "DEBUG")

    assert process.exit_code() == 0
    assert "DEBUG shop: a detail" in process.logged()


@pytest.mark.parametrize(
    ("app", "reason"),
    [
        ("shop.relay", "expected module:factory"),
        ("no_such_package.relay:make", "No module named 'no_such_package'"),
        ("tests.no_such_module:make", "No module named 'tests.no_such_module'"),
        (f"{_APPS}.no_such_module:make", "is not a package"),
        (f"{_APPS}:missing", f"{_APPS} has no missing"),
        (f"{_APPS}:returns_text", "it returned 'relay'"),
        (
            f"{_APPS}:is_misconfigured",
            "OUTBOX_POLL_INTERVAL=1: expected a duration; OUTBOX_LEASE=2: no",
        ),
        (
            "tests.adapters.relay.module_without_a_dependency:make",
            "install pragmatic-ddd[shop]",
        ),
    ],
)
def test_what_makes_no_application_for_a_known_reason_is_one_sentence(
    start: Start, app: str, reason: str
) -> None:
    process = start("run", "--app", app)

    assert process.exit_code() == 2
    (line,) = process.logged().splitlines()
    assert line.startswith(f"error: --app {app}: ")
    assert reason in line


@pytest.mark.parametrize(
    ("app", "place", "reason"),
    [
        (f"{_APPS}:raises", "in raises", "ZeroDivisionError: a bug in the composition root"),
        (
            "tests.adapters.relay.broken_module:make",
            "broken_module.py",
            "ModuleNotFoundError: No module named 'a_library_that_is_not_installed'",
        ),
    ],
)
def test_where_something_unexpected_was_raised_is_shown(
    start: Start, app: str, place: str, reason: str
) -> None:
    process = start("run", "--app", app)

    assert process.exit_code() == 2
    *trace, last = process.logged().splitlines()
    assert trace[0] == "Traceback (most recent call last):"
    assert place in "\n".join(trace)
    assert last.startswith(f"error: --app {app}: ")
    assert last.endswith(reason)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "required: command"),
        (["run"], "required: --app"),
        (["run", "--app", "a:b", "--log-level", "loud"], "--log-level"),
        (["stop"], "stop"),
    ],
)
def test_wrong_arguments_are_explained(start: Start, arguments: list[str], reason: str) -> None:
    process = start(*arguments)

    assert process.exit_code() == 2
    assert reason in process.logged()
