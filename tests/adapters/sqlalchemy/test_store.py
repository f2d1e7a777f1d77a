"""What only the store over SQLAlchemy does: isolation, clocks, conflicts, limits, stragglers."""

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import pytest
import sqlalchemy as sa

from pragmatic_ddd.application.outbox import OutboxRelay, OutboxRelayConfig
from pragmatic_ddd.errors import OutboxSchemaError, OutboxStoreError
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd.testing.faults import ScriptedPublisher
from pragmatic_ddd.testing.messages import (
    A_MINUTE,
    a_message,
    a_reservation,
    delivered,
    failed,
    message_ids,
)
from pragmatic_ddd_local import CountingMetrics
from pragmatic_ddd_sqlalchemy.dialects.mysql import MySqlDialect
from pragmatic_ddd_sqlalchemy.errors import RefusedByDatabaseError
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from tests.databases import (
    OutboxDatabase,
    mariadb_engine,
    outbox_database,
    postgresql_engine,
    sqlite_engine,
)
from tests.unit.application.outbox.builders import eventually

AN_HOUR = dt.timedelta(hours=1)


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgresql", marks=pytest.mark.service("postgresql")),
        pytest.param("mariadb", marks=pytest.mark.service("mariadb")),
    ]
)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OutboxDatabase]:
    engines: dict[str, Callable[[], sa.Engine]] = {
        "sqlite": lambda: sqlite_engine(tmp_path),
        "postgresql": postgresql_engine,
        "mariadb": mariadb_engine,
    }
    with outbox_database(engines[request.param]()) as database:
        yield database


def _set(database: OutboxDatabase, message_id: str, **values: object) -> None:
    table = database.table
    with database.engine.begin() as connection:
        connection.execute(table.update().where(table.c.message_id == message_id).values(**values))


def test_an_older_row_that_is_due_later_is_put_before_its_successors(
    database: OutboxDatabase,
) -> None:
    store = database.store()
    store.store([a_message(f"m{number}") for number in range(12)] + [a_message("other", of="2")])
    database.pass_time(A_MINUTE)
    _set(database, "m0", due_at=dt.datetime.now(dt.UTC) + AN_HOUR)
    _set(database, "m1", due_at=dt.datetime.now(dt.UTC) + AN_HOUR)

    claimed = store.claim_pending(batch_size=5, lease=A_MINUTE)

    assert message_ids(claimed) == [f"m{number}" for number in range(5)]


def test_a_lapsed_row_waits_for_an_older_one_that_is_put_before_it(
    database: OutboxDatabase,
) -> None:
    store = database.store()
    store.store([a_message("m0"), a_message("m1"), a_message("other", of="2")])
    claimed = store.claim_pending(batch_size=9, lease=A_MINUTE)
    database.pass_time(AN_HOUR)
    store.release([each for each in claimed if each.message.message_id != "m1"])
    _set(database, "m0", due_at=dt.datetime.now(dt.UTC) + AN_HOUR)

    taken = [message_ids(store.claim_pending(batch_size=9, lease=A_MINUTE)) for _ in range(2)]

    assert sorted(taken[0] + taken[1]) == ["m0", "other"]


def test_a_retry_is_due_within_the_horizon(database: OutboxDatabase) -> None:
    store = SqlAlchemyOutboxStore(database.engine, database.table, horizon=A_MINUTE)
    store.store([a_message("m0")])
    claimed = store.claim_pending(batch_size=1, lease=A_MINUTE)

    store.retry_later(failed(*claimed, retry_in=dt.timedelta(days=365_000)))

    due_in = store.next_due_in()
    assert due_in is not None
    assert due_in < A_MINUTE + dt.timedelta(milliseconds=1)  # SQLite tells a difference in days
    assert store.tidy() == 0


def test_thousands_of_rows_come_back_at_once_when_the_clock_has_stepped_back(
    database: OutboxDatabase,
) -> None:
    store = database.store()
    store.store([a_message(of=str(number)) for number in range(1200)])
    database.pass_time(-AN_HOUR)

    assert store.tidy() == 1200
    assert len(store.claim_pending(batch_size=2000, lease=A_MINUTE)) == 1200


@pytest.mark.parametrize("verb", ["claim", "claim_pending", "store"])
def test_a_lease_beyond_the_horizon_is_refused(database: OutboxDatabase, verb: str) -> None:
    store = database.store()
    calls: dict[str, Callable[[], object]] = {
        "claim": lambda: store.claim([1], lease=3 * AN_HOUR),
        "claim_pending": lambda: store.claim_pending(batch_size=1, lease=3 * AN_HOUR),
        "store": lambda: store.store([a_message()], reservation=a_reservation(3 * AN_HOUR)),
    }

    with pytest.raises(ValueError, match="raise the horizon"):
        calls[verb]()


@pytest.mark.parametrize(
    "message",
    [
        a_message("m" * 201),
        a_message(of="1" * 201),
        a_message(of="nul\0"),
        a_message(of="half\ud800"),
        a_message(of=""),
        attrs.evolve(a_message(), event_type="e" * 300),
        a_message(payload=b'"\xff"'),
    ],
)
def test_what_no_row_can_hold_is_refused_everywhere(
    database: OutboxDatabase, message: OutboxMessage
) -> None:
    store = database.store()

    with pytest.raises(RefusedByDatabaseError):
        store.store([a_message("m0"), message])

    assert store.find("m0") is None
    assert store.find(message.message_id) is None


def test_a_name_may_be_as_long_as_it_says(database: OutboxDatabase) -> None:
    store = database.store()
    message = a_message("😀" * 200, of="𠀀" * 200)
    store.store([message])

    (claimed,) = store.claim_pending(batch_size=1, lease=A_MINUTE)
    assert claimed.message == message


def test_names_that_differ_in_case_are_different_aggregates(database: OutboxDatabase) -> None:
    store = database.store()
    first, second = store.store([a_message("m1", of="abc"), a_message("m2", of="ABC")])

    assert len(store.claim([second.id], lease=A_MINUTE)) == 1
    assert len(store.claim([first.id], lease=A_MINUTE)) == 1


def test_what_is_not_yet_committed_is_passed_over_and_sent_later(
    database: OutboxDatabase,
) -> None:
    if database.engine.dialect.name == "sqlite":
        pytest.skip("there is one writer at a time")
    store = database.store()
    with database.engine.begin() as slow:
        store.store_in(slow, [a_message("m1", of="1")])
        store.store([a_message("m2", of="2")])
        assert message_ids(store.claim_pending(batch_size=9, lease=A_MINUTE)) == ["m2"]

    assert message_ids(store.claim_pending(batch_size=9, lease=A_MINUTE)) == ["m1"]


def test_a_row_is_as_old_as_its_insert_and_not_as_its_transaction(
    database: OutboxDatabase,
) -> None:
    if database.engine.dialect.name == "sqlite":
        pytest.skip("there is one writer at a time")
    store = database.store()
    with database.engine.begin() as waited:
        waited.execute(sa.select(sa.func.count()).select_from(database.table))
        store.store([a_message("m1")])
        store.store_in(waited, [a_message("m2", version=2)])

    first, second = store.find("m1"), store.find("m2")
    assert first is not None
    assert second is not None
    assert second.created_at > first.created_at


def test_nothing_waits_for_a_slow_transaction(database: OutboxDatabase) -> None:
    if database.engine.dialect.name == "sqlite":
        pytest.skip("there is one writer at a time")
    store = database.store()
    store.store([a_message(f"m{number}", of=str(number)) for number in range(6)])
    with database.engine.begin() as slow:
        store.store_in(slow, [a_message(of=str(number), version=2) for number in range(6)])
        claimed = store.claim_pending(batch_size=9, lease=A_MINUTE)
        sent, released, tried, dead, skipped, replayed = claimed

        store.mark_sent(delivered(sent))
        store.release([released])
        store.retry_later(failed(tried))
        store.mark_failed(failed(dead, skipped, replayed))
        store.skip([skipped.message.message_id], by="me", reason="none")
        store.replay([replayed.message.message_id])
        store.tidy()
        store.purge(older_than=-A_MINUTE)
        store.backlog()
        store.list_failed()
        store.next_due_in()
        assert len(store.claim([each.id for each in claimed], lease=A_MINUTE)) == 2


def test_two_cleaners_and_a_writer_do_not_disturb_each_other(database: OutboxDatabase) -> None:
    store = database.store()
    store.store([a_message(of=str(number)) for number in range(2000)])
    store.mark_sent(delivered(*store.claim_pending(batch_size=2000, lease=A_MINUTE)))
    database.pass_time(AN_HOUR)
    stop = threading.Event()

    def clean() -> int:
        deleted = 0
        while batch := store.purge(older_than=A_MINUTE, batch_size=100):
            assert batch <= 100
            deleted += batch
        return deleted

    def write() -> int:
        written = 0
        while not stop.is_set():
            store.store([a_message(of=f"new-{written}")])
            written += 1
        return written

    with ThreadPoolExecutor(3) as pool:
        writer = pool.submit(write)
        cleaners = [pool.submit(clean), pool.submit(clean)]
        deleted = sum(cleaner.result() for cleaner in cleaners)
        stop.set()

    deleted += clean()
    assert deleted == 2000
    assert store.backlog().pending == writer.result()


def test_no_connection_is_kept(database: OutboxDatabase) -> None:
    store = database.store()
    store.store([a_message("m1")])
    store.mark_sent(delivered(*store.claim_pending(batch_size=1, lease=A_MINUTE)))
    with pytest.raises(OutboxStoreError):
        store.store([a_message("m1")])
    store.backlog()
    store.purge(older_than=dt.timedelta())

    pool = database.engine.pool
    assert isinstance(pool, sa.QueuePool)
    assert pool.checkedout() == 0


@pytest.mark.service("postgresql")
@pytest.mark.parametrize("pool", [sa.StaticPool, sa.AssertionPool])
def test_results_are_not_written_beside_claims_where_there_is_one_connection(
    pool: type[sa.Pool],
) -> None:
    several = postgresql_engine()
    one = sa.create_engine(several.url, poolclass=pool)

    assert SqlAlchemyOutboxStore(several).settles_beside_claims
    assert not SqlAlchemyOutboxStore(one).settles_beside_claims


@pytest.mark.service("postgresql")
@pytest.mark.parametrize(
    "options", [{"poolclass": sa.AssertionPool}, {"pool_size": 1, "max_overflow": 0}]
)
def test_a_relay_goes_on_with_a_pool_that_has_one_connection(options: dict[str, Any]) -> None:
    with outbox_database(sa.create_engine(postgresql_engine().url, **options)) as database:
        store = database.store()
        store.store([a_message(of=str(number)) for number in range(40)])
        publisher, metrics = ScriptedPublisher(), CountingMetrics()

        with OutboxRelay(
            store=store,
            publisher=publisher,
            config=OutboxRelayConfig(batch_size=4),
            metrics=metrics,
        ):
            eventually(lambda: len(publisher.delivered_ids()) == 40)

        assert metrics.count("relay_failed") == 0
        assert (store.backlog().pending, store.backlog().processing) == (0, 0)


@pytest.mark.service("postgresql")
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_the_applications_isolation_level_is_its_own(level: str) -> None:
    with outbox_database(postgresql_engine(level)) as database:
        store = database.store()
        store.store([a_message(of=str(number)) for number in range(300)])

        def relay() -> int:
            sent = 0
            while claimed := store.claim_pending(batch_size=7, lease=A_MINUTE):
                sent += store.mark_sent(delivered(*claimed))
            return sent

        with ThreadPoolExecutor(3) as pool:
            futures = [pool.submit(relay) for _ in range(3)]
            assert sum(future.result() for future in futures) == 300
        with database.engine.connect() as connection:
            show = sa.text("SHOW transaction_isolation")
            assert connection.execute(show).scalar_one() == level.lower()


@pytest.mark.service("postgresql")
@pytest.mark.parametrize(
    ("level", "is_owned"),
    [("READ COMMITTED", True), ("REPEATABLE READ", False), ("SERIALIZABLE", False)],
)
def test_what_is_born_owned_on_postgresql(level: str, *, is_owned: bool) -> None:
    with outbox_database(postgresql_engine(level)) as database:
        (stored,) = database.store().store([a_message()], reservation=a_reservation())

        assert (stored.claim is not None) is is_owned


@pytest.mark.service("postgresql")
def test_serializable_transactions_get_no_conflicts_from_the_outbox() -> None:
    with outbox_database(postgresql_engine("SERIALIZABLE")) as database:
        store = database.store()
        with database.engine.begin() as one, database.engine.begin() as other:
            for connection in (one, other):
                connection.exec_driver_sql("SELECT 1")
            for number, connection in enumerate((one, other)):
                store.store_in(connection, [a_message(of=str(number))], a_reservation())

        assert store.backlog().pending == 2


@pytest.mark.service("mariadb")
@pytest.mark.parametrize(
    ("level", "is_owned"),
    [("READ COMMITTED", True), ("REPEATABLE READ", False), ("SERIALIZABLE", False)],
)
def test_what_is_born_owned_on_mariadb(level: str, *, is_owned: bool) -> None:
    with outbox_database(mariadb_engine(level)) as database:
        (stored,) = database.store().store([a_message()], reservation=a_reservation())

        assert (stored.claim is not None) is is_owned


@pytest.mark.service("mariadb")
def test_the_sessions_time_zone_changes_nothing_on_mariadb() -> None:
    engine = mariadb_engine()

    def far_east(connection: object, _: object) -> None:
        assert hasattr(connection, "cursor")
        connection.cursor().execute("SET time_zone = '+09:00'")

    sa.event.listen(engine, "connect", far_east)
    with outbox_database(engine) as database:
        store = database.store()
        store.store([a_message("m1")])

        entry = store.find("m1")
        assert entry is not None
        assert abs(entry.created_at - dt.datetime.now(dt.UTC)) < A_MINUTE
        assert len(store.claim_pending(batch_size=1, lease=A_MINUTE)) == 1
        assert store.claim_pending(batch_size=1, lease=A_MINUTE) == []


def test_a_server_that_is_too_old_is_named() -> None:
    for server, is_mariadb, serves in (
        ((10, 5, 8), True, False),
        ((10, 6, 1), True, True),
        ((5, 7, 44), False, False),
        ((8, 0, 3), False, False),
        ((8, 0, 4), False, True),
    ):
        dialect = sa.make_url("mysql+pymysql://").get_dialect()()
        dialect.server_version_info = server
        dialect.is_mariadb = is_mariadb  # type: ignore[attr-defined]  # known when connected
        table = OutboxDatabase(sa.create_engine("mysql+pymysql://"), sa.Table("t", sa.MetaData()))
        assert MySqlDialect.for_table(table.table, dialect).serves(dialect) is serves


@pytest.mark.service("mariadb")
def test_a_server_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with outbox_database(mariadb_engine()) as database:
        store = database.store()
        store.backlog()
        monkeypatch.setattr(database.engine.dialect, "server_version_info", (10, 5, 27))

        with pytest.raises(OutboxSchemaError, match=r"needs .*MariaDB 10.6.*this is 10.5.27"):
            store.claim_pending(batch_size=1, lease=A_MINUTE)
