"""The examples that are run from a command line: they end well and print what they are for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parent.parent.parent


def test_the_quickstart_runs_away_from_the_clone(tmp_path: Path) -> None:
    quickstart = shutil.copy(_ROOT / "examples" / "quickstart.py", tmp_path)

    printed = _run(str(quickstart), folder=tmp_path)

    heard, *rows = printed.splitlines()
    assert heard.startswith("warehouse: OrderPaid(aggregate_id='order-1'")
    assert [row.split() for row in rows] == [
        ["shop.order.placed", "SENT"],
        ["shop.order.paid", "SENT"],
    ]


def test_the_quickstart_needs_no_more_than_it_says(tmp_path: Path) -> None:
    source = (_ROOT / "examples" / "quickstart.py").read_text()

    assert "examples" not in source
    assert "sqlalchemy,orjson" in source


def test_the_demonstration_tells_its_story_in_one_screen(tmp_path: Path) -> None:
    printed = _run("-m", "examples.demo", folder=_ROOT)

    assert len(printed.splitlines()) <= 60
    for state in ("PENDING", "SENT", "FAILED", "SKIPPED"):
        assert state in printed
    assert "no shelf for 'teapot'" in printed
    assert "each once" in printed


def _run(*arguments: str, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout
