"""Four processes of eight threads: no id twice, no gap but what an ended process had reserved.

Each process prints the segments that it has reserved and the ids that it has handed out.
"""

import json
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path

import attrs
import pytest

from pragmatic_ddd_sqlalchemy import SqlAlchemySegmentAllocator
from tests.adapters.sqlalchemy.databases import EVERY_DATABASE
from tests.adapters.sqlalchemy.sequences import engine_of, sequences_on
from tests.script import needs_fork, run_script

_SETUP = """
import json, os, sys
from concurrent.futures import ThreadPoolExecutor

import attrs
import sqlalchemy as sa

from pragmatic_ddd.application.identifiers import SegmentIdGenerator
from pragmatic_ddd_sqlalchemy import (
    SqlAlchemySegmentAllocator,
    id_segment_table,
    make_sqlite_safe,
)
from tests.forked import exit_codes, in_child


@attrs.define(eq=False)
class Noting:
    allocator: SqlAlchemySegmentAllocator
    segments: list = attrs.field(factory=list)

    def allocate(self, sequence, *, size):
        segment = self.allocator.allocate(sequence, size=size)
        self.segments.append((os.getpid(), segment.first, segment.last))
        return segment

    def would_wait_for_caller(self):
        return self.allocator.would_wait_for_caller()


engine = make_sqlite_safe(sa.create_engine(os.environ["DATABASE"]))
table = id_segment_table(sa.MetaData(), os.environ["TABLE"])
noting = Noting(SqlAlchemySegmentAllocator(engine, table))
ids = SegmentIdGenerator(allocator=noting, sequence="test", segment_size=SIZE)


def take(count):
    return [ids.next_id() for _ in range(count)]


def take_in_threads():
    with ThreadPoolExecutor(8) as pool:
        taken = [number for some in pool.map(take, [COUNT] * 8) for number in some]
    tell(taken)


def tell(taken):
    while ids._fetch is not None:  # what is still on its way is noted, too
        ids.reserve(ids._left + 1)
    segments = [(a, b) for process, a, b in noting.segments if process == os.getpid()]
    report = json.dumps({"segments": segments, "taken": taken})
    with open(os.path.join(os.environ["REPORTS"], str(os.getpid())), "w") as file:
        file.write(report)
"""


@attrs.frozen
class _Report:
    segments: list[tuple[int, int]]
    taken: list[int]

    def check(self) -> None:
        """What was handed out are the first ids of what was reserved, each of them once."""
        reserved = list(chain.from_iterable(range(a, b + 1) for a, b in self.segments))
        assert sorted(self.taken) == reserved[: len(self.taken)]


def _reports(allocator: SqlAlchemySegmentAllocator, folder: Path, body: str) -> list[_Report]:
    engine = allocator.engine
    done = run_script(
        _SETUP.replace("SIZE", "7").replace("COUNT", "25"),
        body,
        timeout_seconds=60,
        variables={
            "DATABASE": engine.url.render_as_string(hide_password=False),
            "TABLE": allocator.table.name,
            "REPORTS": str(folder),
        },
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert set(json.loads(done.stdout)) == {0}
    return [
        _Report([(first, last) for first, last in raw["segments"]], raw["taken"])
        for raw in map(json.loads, (file.read_text() for file in folder.iterdir()))
    ]


@pytest.fixture(params=EVERY_DATABASE)
def allocator(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SqlAlchemySegmentAllocator]:
    engine = engine_of(request.param, tmp_path_factory.mktemp("database"))
    with sequences_on(engine) as allocator:
        yield allocator


def _check(reports: list[_Report]) -> None:
    for report in reports:
        report.check()
    taken = list(chain.from_iterable(report.taken for report in reports))
    assert len(set(taken)) == len(taken)
    segments = sorted(chain.from_iterable(report.segments for report in reports))
    assert segments[0][0] == 1
    assert [b[0] - a[1] for a, b in pairwise(segments)] == [1] * (len(segments) - 1)


@needs_fork
def test_four_processes_of_eight_threads_get_each_id_once_and_leave_none_out(
    allocator: SqlAlchemySegmentAllocator, tmp_path: Path
) -> None:
    reports = _reports(
        allocator,
        tmp_path,
        "print(json.dumps(exit_codes([in_child(take_in_threads) for _ in range(4)])))",
    )

    assert [len(report.taken) for report in reports] == [200] * 4
    _check(reports)


@needs_fork
def test_children_forked_by_a_parent_with_ids_at_hand_do_not_repeat_them(
    allocator: SqlAlchemySegmentAllocator, tmp_path: Path
) -> None:
    reports = _reports(
        allocator,
        tmp_path,
        """
        before = take(5)
        children = [in_child(take_in_threads) for _ in range(3)]
        tell(before + take(30))
        print(json.dumps(exit_codes(children)))
        """,
    )

    assert sorted(len(report.taken) for report in reports) == [35, 200, 200, 200]
    _check(reports)
