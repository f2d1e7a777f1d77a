"""Suites run side by side: each counts, each is read in its turn, and none is left behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.script import ROOT, child_environment

_PATIENCE_SECONDS = 60
_RUN = """\
import sys
from pathlib import Path
from tests.suites import Suite, run

works, logs = eval(sys.argv[1])
sys.exit(
    run(
        *(
            Suite(name, [sys.executable, "-c", work], Path(logs[name]) if name in logs else None)
            for name, work in works.items()
        )
    )
)
"""
_ENDLESS = """\
import time
try:
    print("runs", flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def started(works: dict[str, str], logs: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _RUN, repr((works, logs))],
        cwd=ROOT,
        env=child_environment(),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_one_is_read_after_the_other_though_they_run_side_by_side(tmp_path: Path) -> None:
    log, meeting = str(tmp_path / "two.log"), str(tmp_path / "meeting")
    os.mkfifo(meeting)
    # Each end of a pipe waits for the other.
    works = {
        "two": f"print('two', open({meeting!r}, 'w').write('met'))",
        "one": f"print('one', open({meeting!r}).read())",
    }

    with started(works, {"two": log}) as running:
        printed, _ = running.communicate(timeout=_PATIENCE_SECONDS)

    assert running.returncode == 0
    assert [line for line in printed.splitlines() if line] == [
        f"two: its output is in {log}",
        *("one met", "two:", "two 3"),
        *("two: passed", "one: passed"),
    ]


@pytest.mark.parametrize("failing", ["one", "two"])
def test_each_of_them_must_pass(tmp_path: Path, failing: str) -> None:
    works = {name: f"raise SystemExit({int(name == failing)})" for name in ("one", "two")}

    with started(works, {"two": str(tmp_path / "two.log")}) as running:
        printed, _ = running.communicate(timeout=_PATIENCE_SECONDS)

    assert running.returncode == 1
    assert f"\n{failing}: failed (1)\n" in printed


@pytest.mark.parametrize(
    ("end", "status"),
    [
        pytest.param(lambda pid: os.killpg(pid, signal.SIGINT), 130, id="by a terminal"),
        pytest.param(lambda pid: os.kill(pid, signal.SIGTERM), 143, id="by another process"),
    ],
)
def test_whoever_ends_the_run_ends_each_of_them(
    tmp_path: Path, end: Callable[[int], None], status: int
) -> None:
    logs = {name: str(tmp_path / name) for name in ("one", "two")}
    for log in logs.values():
        os.mkfifo(log)

    with started(dict.fromkeys(logs, _ENDLESS), logs) as running, ExitStack() as stack:
        stack.callback(_kill_all, running.pid)
        # A pipe is at its end when everybody who writes to it has ended.
        pipes = [stack.enter_context(Path(log).open()) for log in logs.values()]
        assert [pipe.readline() for pipe in pipes] == ["runs\n", "runs\n"]
        end(running.pid)

        assert [pipe.read() for pipe in pipes] == ["interrupted\n", "interrupted\n"]
        assert running.wait(_PATIENCE_SECONDS) == status


def _kill_all(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
