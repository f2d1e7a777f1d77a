"""SQLAlchemy's errors come out as the framework's, and useless connections are replaced."""

import pymysql
import pytest
import sqlalchemy as sa
from psycopg import errors as psycopg_errors
from sqlalchemy import exc
from sqlalchemy.orm.exc import StaleDataError

from pragmatic_ddd.errors import ConcurrencyError, OutboxStoreError
from pragmatic_ddd.testing.messages import A_MINUTE, a_message
from pragmatic_ddd_sqlalchemy.errors import (
    RefusedByDatabaseError,
    is_conflict,
    is_read_only,
    lost_races_told,
    translated,
)
from pragmatic_ddd_sqlalchemy.table import outbox_message
from tests.databases import mariadb_engine, outbox_database, postgresql_engine


def _wrapped(kind: type[exc.DBAPIError], original: Exception) -> exc.DBAPIError:
    return kind("UPDATE …", {}, original)


_TABLE = outbox_message.name
DEADLOCK = _wrapped(exc.OperationalError, psycopg_errors.DeadlockDetected("deadlock"))
SERIALIZATION = _wrapped(exc.OperationalError, psycopg_errors.SerializationFailure("conflict"))
READ_ONLY = _wrapped(exc.InternalError, psycopg_errors.ReadOnlySqlTransaction("read-only"))
UNIQUE = _wrapped(exc.IntegrityError, psycopg_errors.UniqueViolation("twice"))
MYSQL = {
    code: _wrapped(exc.OperationalError, pymysql.err.OperationalError(code, "text"))
    for code in (1020, 1153, 1205, 1213, 1290, 1792, 1836, 2006)
}


@pytest.mark.parametrize(
    ("error", "is_told"),
    [
        (_wrapped(exc.ProgrammingError, psycopg_errors.UndefinedTable(f"no {_TABLE}")), True),
        (_wrapped(exc.ProgrammingError, psycopg_errors.UndefinedTable("no shop_order")), False),
        (_wrapped(exc.ProgrammingError, psycopg_errors.UndefinedColumn(f"in {_TABLE}")), False),
        (_wrapped(exc.ProgrammingError, pymysql.err.ProgrammingError(1146, f"x.{_TABLE}")), True),
        (_wrapped(exc.ProgrammingError, pymysql.err.ProgrammingError(1054, f"x.{_TABLE}")), False),
        (_wrapped(exc.OperationalError, Exception(f"no such table: main.{_TABLE}")), True),
        (_wrapped(exc.OperationalError, Exception(f"no such column: {_TABLE}.id")), False),
    ],
)
def test_only_where_the_outbox_table_is_missing_is_told_how_to_create_it(
    error: Exception, *, is_told: bool
) -> None:
    with pytest.raises(OutboxStoreError) as told, translated(table=outbox_message):
        raise error
    with pytest.raises(OutboxStoreError) as untold, translated():
        raise error

    assert str(told.value).startswith(str(untold.value))
    assert ("create it with the statements of ddl()" in str(told.value)) is is_told
    assert "ddl()" not in str(untold.value)


@pytest.mark.parametrize(
    ("error", "translation", "retryable"),
    [
        (DEADLOCK, OutboxStoreError, True),
        (READ_ONLY, OutboxStoreError, True),
        (MYSQL[2006], OutboxStoreError, True),
        (MYSQL[1205], OutboxStoreError, True),
        (MYSQL[1153], RefusedByDatabaseError, False),
        (UNIQUE, RefusedByDatabaseError, False),
        (_wrapped(exc.ProgrammingError, Exception("no table")), RefusedByDatabaseError, False),
        (_wrapped(exc.DataError, Exception("too long")), RefusedByDatabaseError, False),
        (exc.TimeoutError("QueuePool limit"), OutboxStoreError, True),
        (exc.InvalidRequestError("closed"), OutboxStoreError, True),
    ],
)
def test_every_error_has_one_translation(
    error: Exception, translation: type[Exception], *, retryable: bool
) -> None:
    with pytest.raises(translation) as translated_error, translated():
        raise error

    assert type(translated_error.value) is translation
    assert translated_error.value.__cause__ is error
    assert getattr(translated_error.value, "retryable", None) is retryable


@pytest.mark.parametrize("error", [StaleDataError("0 rows"), SERIALIZATION, MYSQL[1020]])
def test_a_lost_race_is_a_concurrency_error(error: Exception) -> None:
    with pytest.raises(ConcurrencyError) as lost, translated(), lost_races_told():
        raise error

    assert lost.value.__cause__ is error


@pytest.mark.parametrize("error", [DEADLOCK, UNIQUE, MYSQL[1205]])
def test_what_is_no_lost_race_stays_a_store_error(error: Exception) -> None:
    with pytest.raises(OutboxStoreError), translated(), lost_races_told():
        raise error


def test_what_is_not_sqlalchemys_passes() -> None:
    with pytest.raises(KeyError), translated():
        raise KeyError


def test_conflicts_and_read_only_servers_are_known() -> None:
    conflicts = [DEADLOCK, SERIALIZATION, MYSQL[1020], MYSQL[1205], MYSQL[1213]]
    read_only = [READ_ONLY, MYSQL[1290], MYSQL[1792], MYSQL[1836]]

    assert all(is_conflict(each) and not is_read_only(each) for each in conflicts)
    assert all(is_read_only(each) and not is_conflict(each) for each in read_only)
    assert not is_conflict(UNIQUE)
    assert not is_conflict(KeyError())


@pytest.mark.service("postgresql")
def test_connections_to_a_server_that_became_read_only_are_replaced() -> None:
    with outbox_database(postgresql_engine()) as database:
        store = database.store()
        store.store([a_message("m1")])
        connections = [database.engine.connect() for _ in range(3)]
        for connection in connections:
            connection.exec_driver_sql("SET default_transaction_read_only = on")
            connection.commit()
        for connection in connections:
            connection.close()

        assert len(store.claim_pending(batch_size=9, lease=A_MINUTE)) == 1


@pytest.mark.service("postgresql")
def test_a_callers_connection_to_a_read_only_server_is_replaced() -> None:
    with outbox_database(postgresql_engine()) as database:
        store = database.store()
        with database.engine.connect() as connection:
            connection.exec_driver_sql("SET default_transaction_read_only = on")
            connection.commit()
            with pytest.raises(OutboxStoreError, match="read-only"):
                store.store_in(connection, [a_message("m1")])
            assert connection.invalidated

        store.store([a_message("m1")])


@pytest.mark.service("postgresql")
def test_a_connection_that_was_cut_is_replaced() -> None:
    with outbox_database(postgresql_engine()) as database:
        store = database.store()
        store.store([a_message("m1")])
        with database.engine.connect() as connection:
            pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        other = postgresql_engine()
        with other.connect() as connection:
            connection.execute(sa.text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pid})
        other.dispose()

        with pytest.raises(OutboxStoreError) as error:
            store.claim_pending(batch_size=9, lease=A_MINUTE)

        assert error.value.retryable
        assert len(store.claim_pending(batch_size=9, lease=A_MINUTE)) == 1


@pytest.mark.service("mariadb")
def test_what_is_too_large_for_a_packet_is_refused_and_the_pool_stays_healthy() -> None:
    with outbox_database(mariadb_engine()) as database:
        store = database.store()
        payload = b'"' + b"x" * 17 * 1024 * 1024 + b'"'

        with pytest.raises(RefusedByDatabaseError, match="max_allowed_packet"):
            store.store([a_message("large", payload=payload)])

        store.store([a_message("small")])
        assert store.find("large") is None
