"""Character sets: the table has its own, and a connection that would lose characters is refused."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from pragmatic_ddd.errors import OutboxSchemaError
from pragmatic_ddd.testing.messages import A_MINUTE, a_message, delivered, failed
from pragmatic_ddd.testing.outbox_binding import row
from pragmatic_ddd_sqlalchemy import validate_schema
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from tests import servers
from tests.adapters.sqlalchemy.outboxes import mariadb_engine_speaking, set_on_connect
from tests.databases import OutboxDatabase, mariadb_engine, outbox_database, postgresql_engine

_WIDE = "\N{GRINNING FACE} \U00020000 \N{LATIN SMALL LETTER E WITH ACUTE}"
_PAYLOAD = f'{{"text":"{_WIDE}"}}'.encode()


@contextmanager
def _database_in(character_set: str, sql_mode: str | None) -> Iterator[OutboxDatabase]:
    """Make a database whose defaults are narrow, as those of an old server are."""
    name = f"narrow_{secrets.token_hex(6)}"
    server = mariadb_engine()
    with server.begin() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name} CHARACTER SET {character_set}")
    try:
        url = sa.make_url(servers.mariadb_url()).set(database=name)
        engine = sa.create_engine(url, isolation_level="READ COMMITTED")
        if sql_mode is not None:
            set_on_connect(engine, f"SET SESSION sql_mode = '{sql_mode}'")
        with outbox_database(engine) as database:
            yield database
    finally:
        with server.begin() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name}")
        server.dispose()


@pytest.mark.service("mariadb")
@pytest.mark.parametrize("sql_mode", [None, ""], ids=["strict", "lax"])
@pytest.mark.parametrize("character_set", ["utf8mb3", "latin1"])
def test_a_database_of_a_narrow_character_set_holds_every_character(
    character_set: str, sql_mode: str | None
) -> None:
    with _database_in(character_set, sql_mode) as database:
        validate_schema(database.engine, database.table)
        store = database.store()
        messages = [
            a_message(
                f"{_WIDE} {number}", of=f"{number} {_WIDE}", payload=_PAYLOAD, headers={"t": _WIDE}
            )
            for number in range(3)
        ]
        store.store(messages)

        claimed = store.claim_pending(batch_size=9, lease=A_MINUTE)
        assert [one.message for one in claimed] == messages
        sent, tried, dead = claimed
        store.mark_sent(delivered(sent, receipt=_WIDE))
        store.retry_later(failed(tried, error=_WIDE))
        store.mark_failed(failed(dead, error=_WIDE))
        assert row(store, sent.message.message_id).receipt == _WIDE
        assert row(store, tried.message.message_id).last_error == _WIDE
        assert row(store, dead.message.message_id).last_error == _WIDE


def _check_refused(store: SqlAlchemyOutboxStore, advice: str) -> None:
    """Check that no way leads to the outbox: reading loses characters, too, and in silence."""
    for verb in (
        lambda: store.store([a_message()]),
        lambda: store.store([a_message(payload=_PAYLOAD)]),
        lambda: store.claim_pending(batch_size=9, lease=A_MINUTE),
        lambda: store.find("m1"),
        store.list_failed,
        store.backlog,
    ):
        with pytest.raises(OutboxSchemaError, match=advice) as refusal:
            verb()
        assert not refusal.value.retryable


@pytest.mark.service("mariadb")
@pytest.mark.parametrize("sql_mode", [None, ""], ids=["strict", "lax"])
@pytest.mark.parametrize("character_set", ["utf8", "latin1"])
def test_a_connection_in_a_narrow_character_set_is_refused_with_advice(
    character_set: str, sql_mode: str | None
) -> None:
    with outbox_database(mariadb_engine()) as database:
        store = database.store()
        store.store([a_message("m1", payload=_PAYLOAD)])
        engine = mariadb_engine_speaking(character_set)
        if sql_mode is not None:
            set_on_connect(engine, f"SET SESSION sql_mode = '{sql_mode}'")

        _check_refused(SqlAlchemyOutboxStore(engine, database.table), "charset=utf8mb4")

        with pytest.raises(OutboxSchemaError, match="charset=utf8mb4"):
            validate_schema(engine, database.table)
        engine.dispose()
        (claimed,) = store.claim_pending(batch_size=9, lease=A_MINUTE)
        assert claimed.message.payload == _PAYLOAD


@pytest.mark.service("mariadb")
@pytest.mark.parametrize(
    "statement", ["SET NAMES latin1", "SET character_set_results = latin1", "SET NAMES utf8mb3"]
)
def test_a_session_that_was_made_narrow_is_refused(statement: str) -> None:
    engine = mariadb_engine()
    with outbox_database(engine) as database:
        set_on_connect(engine, statement)
        engine.dispose()

        _check_refused(database.store(), "the connection speaks")


@pytest.mark.service("postgresql")
def test_a_connection_in_latin1_is_refused_on_postgresql() -> None:
    with outbox_database(postgresql_engine()) as database:
        engine = sa.create_engine(servers.postgresql_url(), client_encoding="latin1")

        _check_refused(SqlAlchemyOutboxStore(engine, database.table), "client_encoding=utf8")

        with pytest.raises(OutboxSchemaError, match="LATIN1"):
            validate_schema(engine, database.table)
        engine.dispose()


@pytest.mark.service("mariadb")
def test_a_connection_is_asked_once_what_it_carries() -> None:
    asked = 0

    def count(*arguments: object) -> None:
        nonlocal asked
        asked += "character_set" in str(arguments[2])

    with outbox_database(mariadb_engine()) as database:
        sa.event.listen(database.engine, "before_cursor_execute", count)
        store = database.store()
        for _ in range(3):
            store.store([a_message()])
            store.backlog()

        assert asked == 1


_MODES = (
    "ANSI_QUOTES",
    "NO_BACKSLASH_ESCAPES",
    "ORACLE",
    "TRADITIONAL",
    "EMPTY_STRING_IS_NULL",
    "",
)


@pytest.mark.service("mariadb")
@pytest.mark.parametrize("mode", _MODES, ids=lambda mode: mode or "none")
def test_text_is_the_same_in_every_sql_mode(mode: str) -> None:
    engine = mariadb_engine()
    set_on_connect(engine, f"SET SESSION sql_mode = '{mode}'")
    odd = "\\ ' \" ` % \\\\ \\n \n"
    payload = rb'{"a":"\\ \" \u0000 %s"}' + b"'"
    with outbox_database(engine) as database:
        store = database.store()
        store.store([a_message(str(n), of=f"{n}{odd}", payload=payload) for n in range(2)])

        sent, dead = store.claim_pending(batch_size=9, lease=A_MINUTE)
        assert sent.message.payload == payload
        assert sent.message.aggregate_id == f"0{odd}"
        store.mark_sent(delivered(sent, receipt=odd))
        store.mark_failed(failed(dead, error=odd))
        store.skip(["1"], by="ann", reason=odd)
        assert row(store, "0").receipt == odd
        assert row(store, "1").last_error == f"skipped by ann: {odd} | {odd}"
