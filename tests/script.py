"""Scripts in a process of their own: there a test may fork, be interrupted, and end."""

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

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
