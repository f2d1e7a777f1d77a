"""The inbox with a row for each aggregate: what it costs, and what it does with odd events."""

from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from pragmatic_ddd.errors import UnplacedEventError
from pragmatic_ddd.ports import Arrival, Handling
from pragmatic_ddd.testing.inbox_binding import a_place, an_arrival
from pragmatic_ddd_sqlalchemy import watermark_ddl
from pragmatic_ddd_sqlalchemy.errors import RefusedByDatabaseError
from tests.adapters.sqlalchemy.databases import EVERY_DATABASE
from tests.adapters.sqlalchemy.outboxes import engine_of
from tests.adapters.sqlalchemy.statements import statements_of
from tests.databases import sqlite_engine
from tests.inboxes import InboxDatabase, inbox_database


@pytest.fixture(params=EVERY_DATABASE)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InboxDatabase]:
    with inbox_database(engine_of(request.param, tmp_path)) as database:
        yield database


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[InboxDatabase]:
    with inbox_database(sqlite_engine(tmp_path)) as database:
        yield database


def _do_nothing(_: object) -> None: ...


def _statements(database: InboxDatabase, arrival: Arrival) -> int:
    with statements_of(database.engine) as statements:
        database.watermark_inbox().handle(arrival, _do_nothing)
    return len([one for one in statements if not one.startswith("BEGIN")])


def test_an_event_in_order_takes_one_statement(database: InboxDatabase) -> None:
    _statements(database, an_arrival(1))

    assert _statements(database, an_arrival(2, previous=a_place(1))) == 1


def test_where_nothing_can_be_missing_it_takes_one_or_two(database: InboxDatabase) -> None:
    most = 2 if database.engine.dialect.name == "mysql" else 1

    assert _statements(database, an_arrival(of="warm")) >= most  # a connection says more at first
    assert _statements(database, an_arrival(1)) == most
    assert _statements(database, an_arrival(4, previous=None)) == most
    assert _statements(database, an_arrival(1)) == most


def test_there_is_one_row_for_each_aggregate(database: InboxDatabase) -> None:
    inbox = database.watermark_inbox()
    for of in ("1", "2"):
        inbox.handle(an_arrival(of=of), _do_nothing)
        for version in range(2, 6):
            inbox.handle(an_arrival(version, of=of, previous=a_place(version - 1)), _do_nothing)

    assert database.count(database.watermarks) == 2


def test_events_without_a_place_may_have_an_inbox_of_their_own(database: InboxDatabase) -> None:
    inbox = database.watermark_inbox(unplaced=database.message_inbox())
    recorded = attrs.evolve(an_arrival(), place=None, previous=None, unplaced_because="recorded")

    answers = [inbox.handle(recorded, _do_nothing) for _ in range(2)]

    assert answers == [Handling.HANDLED, Handling.REPEATED]
    assert database.count(database.messages) == 1
    assert database.count(database.watermarks) == 0


def test_events_without_a_place_are_refused_before_anything_is_begun(sqlite: InboxDatabase) -> None:
    recorded = attrs.evolve(an_arrival(), place=None, unplaced_because="recorded")

    with (
        statements_of(sqlite.engine) as statements,
        pytest.raises(UnplacedEventError, match="recorded"),
    ):
        sqlite.watermark_inbox().handle(recorded, _do_nothing)

    assert statements == []


@pytest.mark.parametrize(
    "arrival",
    [
        an_arrival(subscriber="a "),
        an_arrival(of="a" * 201),
        an_arrival(aggregate_type=""),
    ],
)
def test_a_key_that_a_database_would_change_is_refused(
    sqlite: InboxDatabase, arrival: Arrival
) -> None:
    with pytest.raises(RefusedByDatabaseError):
        sqlite.watermark_inbox().handle(arrival, _do_nothing)


def test_the_longest_keys_and_the_largest_places_are_kept(database: InboxDatabase) -> None:
    arrival = an_arrival(
        2**63 - 1,
        index=2**31 - 1,
        epoch=2**31 - 1,
        of="ü" * 200,
        subscriber="ß" * 200,
        aggregate_type="a" * 200,
        previous=None,
    )
    inbox = database.watermark_inbox()

    assert inbox.handle(arrival, _do_nothing) is Handling.HANDLED
    assert inbox.handle(arrival, _do_nothing) is Handling.REPEATED


@pytest.mark.parametrize("dialect", ["postgresql", "mysql", "mariadb", "sqlite"])
def test_a_migration_is_given_the_table(dialect: str) -> None:
    [table] = watermark_ddl(dialect)

    assert table.startswith("CREATE TABLE inbox_watermark")
    assert "PRIMARY KEY (subscriber, aggregate_type, aggregate_id)" in table
