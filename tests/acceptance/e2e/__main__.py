"""Runs every pair and writes build/e2e.json: python -m tests.acceptance.e2e [BROKER …]."""

import argparse
import json
import sys
from pathlib import Path

from tests.acceptance.brokers.catalogue import NAMES, broker
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

# By part, database and broker.
Report = dict[str, dict[str, dict[str, Figures]]]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.acceptance.e2e",
        description="Runs the end-to-end story on every database over every broker.",
    )
    parser.add_argument(
        "brokers", nargs="*", metavar="BROKER", help=f"of {', '.join(NAMES)}; or all"
    )
    brokers = parser.parse_args().brokers or NAMES
    unknown = set(brokers) - set(NAMES)
    if unknown:
        parser.error(f"no broker is called {', '.join(sorted(unknown))}")
    needed = [name for one in brokers for name in broker(one).services]
    for service in services(["postgresql", "mariadb", *needed]):
        service.start()
    report: Report = {}
    problems: list[str] = []
    print(f"{'':42}" + "".join(f"{column:>15}" for column in _COLUMNS), flush=True)
    for part, broker_stopped in (("plain", False), ("broker_stopped", True)):
        for database in _DATABASES:
            for over in brokers:
                figures = run_part(part, database, over, broker_stopped=broker_stopped)
                where = f"{part} {database} {over}"
                problems += [f"{where}: {rule}" for rule in broken_rules(where, figures)]
                report.setdefault(part, {}).setdefault(database, {})[over] = figures
                row = "".join(f"{figures[column]:>15}" for column in _COLUMNS)
                print(f"{part:16}{database:12}{over:14}{row}", flush=True)
    _REPORT.parent.mkdir(exist_ok=True)
    _REPORT.write_text(json.dumps(report, indent=2) + "\n")
    print(f"written to {_REPORT}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def broken_rules(where: str, figures: Figures) -> list[str]:
    """Say which rules the figures of a pair break; ``where`` is part, database and broker."""
    expected = {"stored": 5000, "received": 5000, "overtaken": 0, "failed": 0}
    if where.startswith("plain"):
        expected["duplicates"] = 0
    broken = [
        f"{name} is {figures[name]}, not {value}"
        for name, value in expected.items()
        if figures[name] != value
    ]
    if where == "plain postgresql rocketmq" and figures["sent_by_eager"] < 4000:
        broken.append(f"sent_by_eager is {figures['sent_by_eager']}, below 4000")
    return broken


if __name__ == "__main__":
    sys.exit(main())
