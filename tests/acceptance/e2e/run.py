"""One part of the run: starts its processes, stops the broker if asked, counts what came out."""

import contextlib
import json
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests import servers
from tests.acceptance.brokers.broker import Broker
from tests.acceptance.brokers.catalogue import broker
from tests.acceptance.e2e.part import TRANSACTIONS, Part
from tests.acceptance.e2e.wiring import Wiring
from tests.acceptance.tally import arrivals, tally
from tests.services.catalogue import service

Figures = dict[str, int]

_OUTAGE_SECONDS = 10
_DEADLINE_SECONDS = 300
_BUILD = Path("build/e2e")


def run_part(
    name: str,
    database: str,
    over: str = "rocketmq",
    *,
    broker_stopped: bool,
    transactions: int = TRANSACTIONS,
    away_seconds: float = _OUTAGE_SECONDS,
) -> Figures:
    """Run one part to its end and return its figures.

    Args:
        name: Of the part; with the database's, of its tables and topic.
        database: ``postgresql``, ``mariadb`` or ``sqlite``.
        over: The broker, by its name.
        broker_stopped: Whether the broker is killed when a quarter of the events has arrived.
        transactions: How many to commit.
        away_seconds: How long the broker stays away then.

    Raises:
        TimeoutError: A process did not end, or events did not arrive, within five minutes.
        RuntimeError: A process failed; its log is in ``build/e2e``.
    """
    _BUILD.mkdir(parents=True, exist_ok=True)
    prefix = f"{name}-{database}-{over}-"
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=_BUILD)).resolve()
    part = Part(
        database_url=_database_url(database, folder),
        broker=over,
        name=f"{name}_{secrets.token_hex(6)}",
        folder=str(folder),
        transactions=transactions,
    )
    used = broker(over)
    used.create_topic(part.topic)
    used.create_group(part.group)
    wiring = Wiring.of(part)
    wiring.outbox.metadata.create_all(wiring.engine)
    try:
        with (
            _process(part, used, "consumer", "tests.acceptance.e2e.consumer_process"),
            _process(part, used, "relay", "pragmatic_ddd_relay", *_RELAY),
            _process(part, used, "orders", "tests.acceptance.e2e.order_process") as orders,
        ):
            if broker_stopped:
                _stop_broker_in_the_middle(part, used, away_seconds)
            _wait(lambda: orders.poll() is not None, "the order process to end")
            if orders.returncode:
                raise RuntimeError(f"the order process failed: see {folder}/orders.log")
            _wait(lambda: not wiring.has_unsent_rows(), "the outbox to be empty")
            _wait_for_arrivals(part)
        return _figures(part, wiring)
    finally:
        wiring.outbox.metadata.drop_all(wiring.engine)
        wiring.engine.dispose()


_RELAY = ("run", "--app", "tests.acceptance.e2e.relay_process:application")


def _database_url(database: str, folder: Path) -> str:
    urls = {
        "postgresql": servers.postgresql_url(),
        "mariadb": servers.mariadb_url(),
        "sqlite": f"sqlite:///{folder}/orders.db",
    }
    return urls[database]


@contextlib.contextmanager
def _process(
    part: Part, used: Broker, name: str, module: str, *arguments: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module as a process of its own; end it by SIGTERM, at last by SIGKILL."""
    with (Path(part.folder) / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            [str(used.python), "-m", module, *arguments],
            env=part.environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            print(f"{name} had to be killed, see {part.folder}", file=sys.stderr)


def _stop_broker_in_the_middle(part: Part, used: Broker, away_seconds: float) -> None:
    def in_the_middle() -> bool:
        return len(arrivals(part.received_log, kind="OrderChanged")) >= part.events // 4

    _wait(in_the_middle, "a quarter of the events to arrive")
    victim = service(used.victim)
    victim.kill()
    time.sleep(away_seconds)
    victim.start()


def _wait_for_arrivals(part: Part) -> None:
    """Wait until every event is there, and then until no further copy has come for a while."""
    quiet_since = time.monotonic()
    count = 0

    def is_quiet() -> bool:
        nonlocal count, quiet_since
        now = len(arrivals(part.received_log, kind="OrderChanged"))
        if now != count:
            count, quiet_since = now, time.monotonic()
        return now >= part.events and time.monotonic() - quiet_since > 2

    with contextlib.suppress(TimeoutError):  # the figures will say what is missing
        _wait(is_quiet, "the events to arrive")


def _wait(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {_DEADLINE_SECONDS} s for {what}")
        time.sleep(0.2)


def _figures(part: Part, wiring: Wiring) -> Figures:
    seen = tally(arrivals(part.received_log, kind="OrderChanged"))
    by_status = wiring.rows_by_status()
    return {
        "stored": sum(by_status.values()),
        "received": seen.received,
        "duplicates": seen.duplicates,
        "overtaken": seen.overtaken,
        "failed": by_status.get("FAILED", 0),
        "sent_by_eager": json.loads(part.counts("orders").read_text())["eager"],
        "sent_by_relay": json.loads(part.counts("relay").read_text())["relay"],
    }
