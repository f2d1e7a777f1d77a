"""What the programs of this folder are asked for is run, or refused, and never passed over."""

import subprocess
import sys

import pytest

from tests.acceptance.guards.guard import Guard
from tests.script import ROOT, child_environment

_PROGRAMS = ("e2e", "faults", "guards", "once")
_TIMEOUT_SECONDS = 40


def started(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"tests.acceptance.{program}", *arguments],
        cwd=ROOT,
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("arguments", [["typo"], ["--typo"]])
@pytest.mark.parametrize("program", _PROGRAMS)
def test_an_argument_that_is_not_known_is_refused(program: str, arguments: list[str]) -> None:
    done = started(program, *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert "typo" in done.stderr


@pytest.mark.parametrize("program", _PROGRAMS)
def test_help_is_printed_and_nothing_is_run(program: str) -> None:
    done = started(program, "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: python -m tests.acceptance.{program}")


def test_a_guard_that_is_not_there_is_refused_with_all_that_are() -> None:
    first = Guard.all()[0]

    done = started("guards", first.promise, "no such guard")

    assert done.returncode == 2
    assert "no guard is called 'no such guard'" in done.stderr
    assert all(one.guard in done.stderr for one in Guard.all())
