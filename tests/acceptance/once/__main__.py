"""Runs each inbox and writes build/once.json: python -m tests.acceptance.once [INBOX …]."""

import argparse
import json
import signal
import sys
import time
from pathlib import Path

from tests import servers
from tests.acceptance.once.run import Figures, Size, broken_rules, run
from tests.services.catalogue import services

_REPORT = Path("build/once.json")
# PostgreSQL has every inbox; the others those whose SQL is their own.
_PARTS = {
    "message_table": ("message_table", "postgresql"),
    "watermark": ("watermark", "postgresql"),
    "message_table_behind_redis": ("message_table_behind_redis", "postgresql"),
    "watermark_behind_redis": ("watermark_behind_redis", "postgresql"),
    "state": ("state", "postgresql"),
    "message_table_mariadb": ("message_table", "mariadb"),
    "watermark_mariadb": ("watermark", "mariadb"),
    "message_table_sqlite": ("message_table", "sqlite"),
    "watermark_sqlite": ("watermark", "sqlite"),
}
_COLUMNS = (
    "expected",
    "applied",
    "out_of_order",
    "rows",
    "delivered",
    "refused_for_now",
    "kills",
)
_NEEDED = ("postgresql", "mariadb", "redis")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.once")
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    parser.add_argument("inboxes", nargs="*", metavar="INBOX", help=f"of {', '.join(_PARTS)}")
    arguments = parser.parse_args()
    unknown = set(arguments.inboxes) - _PARTS.keys()
    if unknown:
        parser.error(f"no inbox is called {', '.join(sorted(unknown))}")
    # As Ctrl-C does: the consumers are ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    for service in services(_NEEDED):
        if not servers.answers(service.name):
            service.start()
    _REPORT.unlink(missing_ok=True)  # a run that breaks off leaves no figures of an older one
    size = Size(events=1000) if arguments.quick else Size()
    report: dict[str, Figures] = {}
    problems: list[str] = []
    print(f"{'':28}" + "".join(f"{column:>17}" for column in _COLUMNS), flush=True)
    for name in arguments.inboxes or _PARTS:
        inbox, database = _PARTS[name]
        started = time.monotonic()
        figures = report[name] = run(inbox, database, size)
        problems += [f"{name}: {one}" for one in broken_rules(inbox, figures, size)]
        row = "".join(f"{figures[column]:>17}" for column in _COLUMNS)
        print(f"{name:28}{row}  {time.monotonic() - started:.0f} s", flush=True)
    _REPORT.parent.mkdir(exist_ok=True)
    _REPORT.write_text(json.dumps(report, indent=2) + "\n")
    print(f"written to {_REPORT}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
