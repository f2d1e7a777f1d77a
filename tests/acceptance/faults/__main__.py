"""Runs the parts and writes build/faults.json: python -m tests.acceptance.faults [PART …]."""

import argparse
import json
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.acceptance.faults import contention, eager_ordered
from tests.acceptance.faults.broker.process import BrokerProcess
from tests.acceptance.faults.kill.part import run_kills, run_pauses
from tests.acceptance.faults.outage.part import run as run_outage
from tests.acceptance.faults.restart.part import run as run_restarts
from tests.acceptance.faults.rules import broken_rules, late_recoveries
from tests.acceptance.faults.stage import DATABASES
from tests.services.catalogue import services

_REPORT = Path("build/faults.json")
_FOLDER = Path("build/faults")
_OF_LATE_ONES = (
    "What was late did arrive. The bounds are those of an idle machine: where this one was busy, "
    "run that part again."
)

Figures = dict[str, Any]
Part = Callable[[bool, Path, int], Figures]


def _contention(quick: bool, folder: Path, port: int) -> Figures:
    return {
        database: contention.run(database, quick=quick, folder=folder, broker_port=port)
        for database in DATABASES
    }


_PARTS: dict[str, Part] = {
    "kill": lambda quick, folder, port: run_kills(quick=quick, folder=folder, broker_port=port),
    "contention": _contention,
    "eager_ordered": lambda quick, folder, port: eager_ordered.run(
        quick=quick, folder=folder, broker_port=port
    ),
    "outage": lambda quick, folder, _: run_outage(quick=quick, folder=folder),
    "restart": lambda quick, folder, port: run_restarts(
        quick=quick, folder=folder, broker_port=port
    ),
    "stale_owner": lambda quick, folder, port: run_pauses(
        quick=quick, folder=folder, broker_port=port
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.faults")
    parser.add_argument("--quick", action="store_true", help="each kind once, under five minutes")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(_PARTS)}; or all")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - _PARTS.keys()
    if unknown:
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    # As Ctrl-C does: what was started is ended, children and broker alike.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    for service in services():
        service.start()
    _REPORT.unlink(missing_ok=True)  # a run that breaks off leaves no figures of an older one
    report: Figures = {}
    for name in arguments.parts or _PARTS:
        started = time.monotonic()
        report[name] = _run(name, quick=arguments.quick)
        _show(name, report[name], time.monotonic() - started)
    _REPORT.write_text(json.dumps(report, indent=2) + "\n")
    print(f"written to {_REPORT}")
    broken, late = broken_rules(report), late_recoveries(report)
    for sentence in broken:
        print(f"broken: {sentence}", file=sys.stderr)
    for sentence in late:
        print(f"late: {sentence}", file=sys.stderr)
    if late:
        print(_OF_LATE_ONES, file=sys.stderr)
    return 1 if broken or late else 0


def _run(name: str, *, quick: bool) -> Figures:
    folder = (_FOLDER / name).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with BrokerProcess(folder) as broker:
        return _PARTS[name](quick, folder, broker.port)


def _show(name: str, figures: Figures, seconds: float) -> None:
    """Print what is a number, one row for each database or server."""
    rows = figures if all(isinstance(one, dict) for one in figures.values()) else {"": figures}
    numbers = {
        title: {column: str(one) for column, one in row.items() if isinstance(one, int | float)}
        for title, row in rows.items()
    }
    widths = {column: len(column) + 2 for row in numbers.values() for column in row}
    print(f"\n{name} ({seconds:.0f} s)")
    print(" " * 12 + "".join(f"{column:>{width}}" for column, width in widths.items()))
    for title, row in numbers.items():
        cells = "".join(f"{row.get(column, ''):>{width}}" for column, width in widths.items())
        print(f"{title:12}{cells}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
