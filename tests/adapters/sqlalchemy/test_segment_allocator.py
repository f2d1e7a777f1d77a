"""Sequences in a table: created once, reserved apart from whatever the caller has open."""

import datetime as dt
import gc
import os
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from pragmatic_ddd.application.identifiers import SegmentIdGenerator
from pragmatic_ddd.errors import ConfigurationError, IdAllocationError
from pragmatic_ddd.ports.identifiers import LARGEST_ID
from pragmatic_ddd_sqlalchemy import (
    SqlAlchemySegmentAllocator,
    create_memory_engine,
    create_sqlite_engine,
    id_segment_ddl,
    id_segment_table,
    read_only,
)
from tests.adapters.sqlalchemy.databases import EVERY_DATABASE
from tests.adapters.sqlalchemy.sequences import (
    any_allocator,  # noqa: F401  # a fixture
    engine_of,
    sqlite_allocator,  # noqa: F401  # a fixture
)
from tests.script import needs_fork

_LONG = dt.timedelta(seconds=40)


def test_a_sequence_that_is_there_stays_as_it_is(
    any_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
) -> None:
    any_allocator.allocate("test", size=41)

    any_allocator.create("test", first=500)

    assert any_allocator.allocate("test", size=1).first == 42


def test_many_may_create_the_same_sequence_at_once(
    any_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: any_allocator.create("new", first=7), range(8)))

    assert any_allocator.allocate("new", size=1).first == 7


@pytest.mark.parametrize("any_allocator", EVERY_DATABASE[1:], indirect=True)
def test_who_is_too_late_to_create_a_sequence_finds_it_created(
    any_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
) -> None:
    engine, row = any_allocator.engine, {"sequence": "new", "last_id": 6}
    faster = [sa.insert(any_allocator.table).values(row)]

    @sa.event.listens_for(engine, "before_cursor_execute")
    def be_faster(connection: sa.Connection, cursor: object, statement: str, *_: object) -> None:
        if faster and statement.startswith("INSERT"):
            insert = faster.pop()
            with engine.begin() as other:
                other.execute(insert)

    any_allocator.create("new", first=1)

    assert any_allocator.allocate("new", size=1).first == 7


@needs_fork
@pytest.mark.parametrize("any_allocator", EVERY_DATABASE[1:], indirect=True)
def test_a_forked_child_leaves_the_connections_of_its_parent_alone(
    any_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
) -> None:
    pool = any_allocator.engine.pool
    assert isinstance(pool, sa.QueuePool)
    assert pool.checkedin() > 0
    child = os.fork()
    if child == 0:
        inherited = any_allocator.engine.pool
        assert isinstance(inherited, sa.QueuePool)
        os._exit(inherited.checkedin())

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pool.checkedin() > 0


@pytest.mark.parametrize(
    ("sequence", "first", "message"),
    [
        ("", 1, "sequence = '': say it"),
        ("x" * 201, 1, "at most 200 characters"),
        ("new", 0, "first = 0: at least 1"),
        ("new", LARGEST_ID + 1, f"at most {LARGEST_ID}"),
        ("new", "1", "first = '1': give an int"),
    ],
)
def test_what_cannot_be_created_is_refused(
    sqlite_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
    sequence: str,
    first: int,
    message: str,
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        sqlite_allocator.create(sequence, first=first)


@pytest.mark.parametrize("database", EVERY_DATABASE)
def test_a_missing_table_is_named_with_what_creates_it(database: str, tmp_path: Path) -> None:
    engine = engine_of(database, tmp_path)
    allocator = SqlAlchemySegmentAllocator(engine)

    with pytest.raises(IdAllocationError, match=r"is there a table id_segment\? id_segment_ddl"):
        allocator.allocate("test", size=1)
    engine.dispose()


@pytest.mark.parametrize("database", EVERY_DATABASE)
def test_what_is_printed_is_what_is_needed(database: str, tmp_path: Path) -> None:
    engine = engine_of(database, tmp_path)
    table = id_segment_table(sa.MetaData(), f"printed_{secrets.token_hex(6)}")
    with engine.begin() as connection:
        for statement in id_segment_ddl(engine.dialect.name, table):
            connection.exec_driver_sql(statement)
    try:
        allocator = SqlAlchemySegmentAllocator(engine, table)
        allocator.create("n" * 200, first=LARGEST_ID)
        assert allocator.allocate("n" * 200, size=1).last == LARGEST_ID
    finally:
        table.drop(engine)
        engine.dispose()


def test_the_table_has_one_row_for_each_sequence() -> None:
    (created,) = id_segment_ddl("postgresql")

    columns = "sequence TEXT NOT NULL, last_id BIGINT NOT NULL, PRIMARY KEY (sequence)"
    assert " ".join(created.split()) == f"CREATE TABLE id_segment ( {columns} )"
    with pytest.raises(ValueError, match="'oracle'"):
        id_segment_ddl("oracle")
    with pytest.raises(TypeError, match="table = 'id_segment': give a Table"):
        id_segment_ddl("sqlite", "id_segment")  # type: ignore[arg-type]  # the point


@pytest.mark.parametrize(
    "engine", [create_memory_engine(), sa.create_engine("sqlite:///unsafe.db")]
)
def test_an_engine_that_another_thread_cannot_use_is_refused(engine: sa.Engine) -> None:
    with pytest.raises(ConfigurationError):
        SqlAlchemySegmentAllocator(engine)


def test_what_is_reserved_stays_reserved_when_the_caller_rolls_back(
    any_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
) -> None:
    ids = SegmentIdGenerator(allocator=any_allocator, sequence="test", segment_size=4)
    ids.reserve()

    with Session(any_allocator.engine) as session:
        session.connection()  # on SQLite, this begins to hold the lock
        taken = [ids.next_id() for _ in range(4)]
        session.rollback()

    assert [*taken, ids.next_id()] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("any_allocator", EVERY_DATABASE[1:], indirect=True)
def test_on_a_server_a_segment_may_end_inside_a_unit_of_work(
    any_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
) -> None:
    ids = SegmentIdGenerator(allocator=any_allocator, sequence="test", segment_size=2)

    with any_allocator.engine.begin():
        assert [ids.next_id() for _ in range(9)] == list(range(1, 10))


class TestOnSqliteInsideAUnitOfWork:
    def test_a_segment_that_ends_is_a_clear_error_at_once(
        self,
        sqlite_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
    ) -> None:
        ids = SegmentIdGenerator(
            allocator=sqlite_allocator, sequence="test", segment_size=3, patience=_LONG
        )
        ids.reserve()
        begun = time.monotonic()

        with sqlite_allocator.engine.begin():
            taken = [ids.next_id() for _ in range(3)]
            with pytest.raises(IdAllocationError, match="call reserve\\(\\) before it") as refusal:
                ids.next_id()

        assert time.monotonic() - begun < _LONG.total_seconds() / 2
        assert refusal.value.retryable
        assert [*taken, ids.next_id()] == [1, 2, 3, 4], "the segment came when the lock was free"

    def test_who_reserves_what_it_needs_before_is_served(
        self,
        sqlite_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
    ) -> None:
        ids = SegmentIdGenerator(allocator=sqlite_allocator, sequence="test", segment_size=3)
        ids.reserve(50)

        with sqlite_allocator.engine.begin():
            assert [ids.next_id() for _ in range(50)] == list(range(1, 51))

    def test_who_only_reads_may_wait(
        self,
        sqlite_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
    ) -> None:
        ids = SegmentIdGenerator(allocator=sqlite_allocator, sequence="test", segment_size=2)

        with read_only(sqlite_allocator.engine).begin():
            assert [ids.next_id() for _ in range(9)] == list(range(1, 10))

    def test_another_thread_waits_until_the_writer_is_done(
        self,
        sqlite_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
    ) -> None:
        ids = SegmentIdGenerator(allocator=sqlite_allocator, sequence="test", patience=_LONG)
        taken: list[int] = []
        taking = threading.Thread(target=lambda: taken.append(ids.next_id()))

        with sqlite_allocator.engine.begin():
            taking.start()
            with pytest.raises(IdAllocationError):
                ids.next_id()
            assert taken == []
        taking.join(_LONG.total_seconds())

        assert taken == [1]

    def test_reserving_and_creating_are_refused_too(
        self,
        sqlite_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
    ) -> None:
        with sqlite_allocator.engine.begin():
            with pytest.raises(IdAllocationError, match="would wait for itself"):
                sqlite_allocator.allocate("test", size=1)
            with pytest.raises(IdAllocationError, match="would wait for itself"):
                sqlite_allocator.create("new")

    def test_a_writer_that_this_process_does_not_see_ends_the_patience(
        self,
        sqlite_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
    ) -> None:
        ids = SegmentIdGenerator(
            allocator=sqlite_allocator, sequence="test", patience=dt.timedelta(milliseconds=50)
        )
        elsewhere = create_sqlite_engine(str(sqlite_allocator.engine.url.database))

        with elsewhere.begin(), pytest.raises(IdAllocationError, match=r"reserved in 0\.05 s"):
            ids.next_id()
        elsewhere.dispose()


def _commit(connection: sa.Connection) -> None:
    connection.commit()


def _roll_back(connection: sa.Connection) -> None:
    connection.rollback()


def _close(connection: sa.Connection) -> None:
    connection.close()


def _invalidate(connection: sa.Connection) -> None:
    connection.invalidate()
    connection.close()


@pytest.mark.parametrize("end", [_commit, _roll_back, _close, _invalidate])
def test_who_has_ended_its_transaction_may_wait_again(
    sqlite_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
    end: Callable[[sa.Connection], None],
) -> None:
    connection = sqlite_allocator.engine.connect()
    connection.begin()
    assert sqlite_allocator.would_wait_for_caller()

    end(connection)

    assert not sqlite_allocator.would_wait_for_caller()
    connection.close()


@pytest.mark.filterwarnings("ignore:The garbage collector is trying to clean up")
def test_a_connection_that_nobody_has_closed_holds_nobody_up(
    sqlite_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
) -> None:
    connection = sqlite_allocator.engine.connect()
    connection.begin()
    assert sqlite_allocator.would_wait_for_caller()

    del connection
    gc.collect()

    assert not sqlite_allocator.would_wait_for_caller()
    assert sqlite_allocator.allocate("test", size=1).first == 1


def test_many_allocators_of_an_engine_listen_to_it_once(
    sqlite_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
) -> None:
    engine = sqlite_allocator.engine
    before = _listeners(engine)

    with engine.begin():
        others = [SqlAlchemySegmentAllocator(engine, sqlite_allocator.table) for _ in range(3)]
        assert all(other.would_wait_for_caller() for other in others)
    assert not any(other.would_wait_for_caller() for other in others)

    assert _listeners(engine) == before


def _listeners(engine: sa.Engine) -> list[int]:
    own, pool, dialect = engine.dispatch, engine.pool.dispatch, engine.dialect.dispatch
    events = (
        *(own.begin, own.commit, own.rollback),
        *(pool.reset, pool.invalidate),
        dialect.handle_error,
    )
    return [len(list(event)) for event in events]


def test_a_row_that_somebody_else_has_raised_meanwhile_is_not_reserved_twice(
    sqlite_allocator: SqlAlchemySegmentAllocator,  # noqa: F811
) -> None:
    """As it would be on a database that does not lock what is read for an update."""
    name = sqlite_allocator.table.name
    faster = [f"UPDATE {name} SET last_id = 70"]

    @sa.event.listens_for(sqlite_allocator.engine, "before_cursor_execute")
    def be_faster(connection: sa.Connection, cursor: object, statement: str, *_: object) -> None:
        if faster and statement.startswith("UPDATE"):
            connection.exec_driver_sql(faster.pop())

    with pytest.raises(IdAllocationError, match="somebody else was faster") as refusal:
        sqlite_allocator.allocate("test", size=5)

    assert refusal.value.retryable
    assert sqlite_allocator.allocate("test", size=5).first == 1
