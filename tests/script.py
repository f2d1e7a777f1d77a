"""Scripts in a process of their own: there a test may fork, be interrupted, and end.

A script imports ``in_child`` and ``exit_codes`` from here.
"""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# What a child of a script may take; one that hangs is ended by the system, and fails the test.
_LONGEST_CHILD_SECONDS = 40

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def child_environment(**variables: str) -> dict[str, str]:
    """Return the environment of this process, in which the code of this checkout is imported."""
    return {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'adapters'}", **variables}


def run_script(
    setup: str, body: str, *, timeout_seconds: float, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script to its end; it is a file, so that a spawned process can import it again.

    Raises:
        subprocess.TimeoutExpired: It hangs.
    """
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")
        script.write_text(textwrap.dedent(setup) + textwrap.dedent(body))
        return subprocess.run(
            # Forking beside threads is what is tried.
            [sys.executable, "-W", "ignore::DeprecationWarning", str(script)],
            cwd=ROOT,
            env=child_environment(**(variables or {})),
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )


def in_child(work: Callable[[], object]) -> int:
    """Begin work in a forked child, which ends with 0 if all went well; return its process id."""
    child = os.fork()
    if child:
        return child
    signal.alarm(_LONGEST_CHILD_SECONDS)
    try:
        work()
    except BaseException as error:  # noqa: BLE001  # the process's outermost frame
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def exit_codes(children: Iterable[int]) -> list[int]:
    """Wait for the end of children."""
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
