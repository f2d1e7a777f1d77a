"""Runs every part and writes build/e2e.json: python -m tests.acceptance.e2e."""

import argparse
import json
import sys
from pathlib import Path

from tests.acceptance.e2e.run import Figures, run_part
from tests.services.catalogue import services

_REPORT = Path("build/e2e.json")
_DATABASES = ("postgresql", "mariadb", "sqlite")
_COLUMNS = (
    "stored",
    "received",
    "duplicates",
    "overtaken",
    "failed",
    "sent_by_eager",
    "sent_by_relay",
)


def main() -> int:
    argparse.ArgumentParser(
        prog="python -m tests.acceptance.e2e",
        description="Runs the end-to-end story on every database; there is nothing to choose.",
    ).parse_args()
    for service in services():
        service.start()
    report: dict[str, dict[str, dict[str, int]]] = {}
    problems: list[str] = []
    print(f"{'':28}" + "".join(f"{column:>15}" for column in _COLUMNS), flush=True)
    for part, broker_stopped in (("plain", False), ("broker_stopped", True)):
        for database in _DATABASES:
            figures = run_part(part, database, broker_stopped=broker_stopped)
            problems += [
                f"{part} {database}: {rule}" for rule in broken_rules(part, database, figures)
            ]
            report.setdefault(part, {})[database] = figures
            row = "".join(f"{figures[column]:>15}" for column in _COLUMNS)
            print(f"{part:16}{database:12}{row}", flush=True)
    _REPORT.parent.mkdir(exist_ok=True)
    _REPORT.write_text(json.dumps(report, indent=2) + "\n")
    print(f"written to {_REPORT}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def broken_rules(part: str, database: str, figures: Figures) -> list[str]:
    expected = {"stored": 5000, "received": 5000, "overtaken": 0, "failed": 0}
    if part == "plain":
        expected["duplicates"] = 0
    broken = [
        f"{name} is {figures[name]}, not {value}"
        for name, value in expected.items()
        if figures[name] != value
    ]
    if part == "plain" and database == "postgresql" and figures["sent_by_eager"] < 4000:
        broken.append(f"sent_by_eager is {figures['sent_by_eager']}, below 4000")
    return broken


if __name__ == "__main__":
    sys.exit(main())
