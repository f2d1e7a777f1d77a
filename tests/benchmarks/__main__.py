"""Runs the parts and writes build/bench.json: python -m tests.benchmarks [PART …]."""

import argparse
import json
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from tests.benchmarks import brokers, drain, eager, growth, rocketmq, statements, store
from tests.benchmarks.findings import Findings
from tests.benchmarks.marks import missed
from tests.benchmarks.quiet_machine import DATABASES, leave_running, restored_afterwards
from tests.benchmarks.table import show

_REPORT = Path("build/bench.json")
_WIDTH = 120  # of the tables in a log

Part = Callable[[bool], Findings]

_PARTS: dict[str, Part] = {
    "drain": lambda quick: drain.run(quick=quick),
    "store": lambda quick: store.run(quick=quick),
    "statements": lambda quick: statements.run(quick=quick),
    "eager": lambda quick: eager.run(quick=quick),
    "growth": lambda quick: growth.run(quick=quick),
    "rocketmq": lambda quick: rocketmq.run(quick=quick),
    "brokers": lambda quick: brokers.run(quick=quick),
}
# What a part needs beside the databases; brokers.py sees to its own.
_BROKERS = {"rocketmq": ("rocketmq",)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("--quick", action="store_true", help="smaller, under five minutes")
    parser.add_argument("--strict", action="store_true", help="fail where a mark is missed")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(_PARTS)}; or all")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - _PARTS.keys()
    if unknown:
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    logging.basicConfig(level=logging.WARNING)
    _REPORT.unlink(missing_ok=True)  # a run that breaks off leaves no figures of an older one
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    all_findings = Findings()
    with restored_afterwards():
        for name in arguments.parts or _PARTS:
            leave_running(*DATABASES, *_BROKERS.get(name, ()))
            started = time.monotonic()
            findings = _PARTS[name](arguments.quick)
            show(name, findings, time.monotonic() - started, console)
            all_findings.add(findings)
    report = {"scale": 0.1 if arguments.quick else 1} | all_findings.as_json()
    _REPORT.parent.mkdir(exist_ok=True)
    _REPORT.write_text(json.dumps(report, indent=2) + "\n")
    console.print(f"written to {_REPORT}")
    problems = missed(all_findings.figures)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems and arguments.strict else 0


if __name__ == "__main__":
    sys.exit(main())
