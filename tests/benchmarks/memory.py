"""A million rows drained in constant memory, by a process that does nothing else."""

import itertools
import multiprocessing
import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import attrs
import sqlalchemy as sa

from pragmatic_ddd.application.outbox.relay import OutboxRelay
from pragmatic_ddd.ports import OutboxMessage, Receipt
from pragmatic_ddd_sqlalchemy import SqlAlchemyOutboxStore, outbox_table
from tests.benchmarks.databases import bench_database, engine_of
from tests.benchmarks.fill import Rows, fill
from tests.benchmarks.findings import Findings
from tests.benchmarks.publisher import NoPublisher

_LOOKS = 20
_SHORT = 20_000
_MEGABYTE = 1024 * 1024
_KIND = "postgresql"


@attrs.define(eq=False)
class Watching(NoPublisher):
    """Looks now and then how much memory the process has, and what time it is.

    Attributes:
        every: After how many messages.
        resident_bytes: What was seen.
        times: When.
    """

    every: int = 1
    resident_bytes: list[int] = attrs.field(factory=list)
    times: list[float] = attrs.field(factory=list)

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        if self.expected % self.every == 0:
            self.resident_bytes.append(_resident_bytes())
            self.times.append(time.perf_counter())
        return super().publish_stored(message)


@attrs.frozen(kw_only=True)
class Drained:
    """How a process has drained many rows.

    Attributes:
        growth_bytes: The most memory seen since the first twentieth, above what it had then.
        seconds: What each further twentieth has taken.
    """

    growth_bytes: int
    seconds: list[float]

    def rate(self, rows: int) -> float:
        """Return the events per second, of so many rows."""
        return rows / _LOOKS * len(self.seconds) / sum(self.seconds)


def run(rows: int) -> Findings:
    """Measure on PostgreSQL."""
    findings = Findings()
    short, drained = (_drained_elsewhere(count) for count in (_SHORT, rows))
    findings.figure("rss_growth_mb_1m", drained.growth_bytes / _MEGABYTE)
    findings.figure("last_twentieth_vs_first_1m", drained.seconds[0] / drained.seconds[-1])
    findings.figure("pending_1m_vs_20k", drained.rate(rows) / short.rate(_SHORT))
    findings.rate("events_per_second.postgresql.of_20k", short.rate(_SHORT))
    findings.rate("events_per_second.postgresql.of_1m", drained.rate(rows))
    return findings


def _drained_elsewhere(rows: int) -> Drained:
    """Drain by a process that has drained nothing: what others have freed would hide growth."""
    with bench_database(_KIND) as database:
        fill(database, Rows(count=rows))
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
            drained = processes.submit(drain, database.outbox.name, rows).result()
        database.check_all_sent()
    return drained


def drain(outbox: str, rows: int) -> Drained:
    """Drain a table, in a process of its own."""
    engine = engine_of(_KIND, folder=Path(tempfile.gettempdir()), synchronous=False)
    store = SqlAlchemyOutboxStore(engine, outbox_table(sa.MetaData(), outbox))
    publisher = Watching(expected=rows, every=rows // _LOOKS)
    relay = OutboxRelay(store=store, publisher=publisher)
    publisher.when_done = relay.stop
    relay.run()
    engine.dispose()
    _, first, *later = publisher.resident_bytes
    times = publisher.times[1:]
    return Drained(
        growth_bytes=max(later) - first,
        seconds=[end - begin for begin, end in itertools.pairwise(times)],
    )


def _resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
