"""A live table that is not what the outbox needs is refused, with all that is wrong."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from pragmatic_ddd.errors import OutboxSchemaError, OutboxStoreError
from pragmatic_ddd.testing.messages import A_MINUTE, a_message, delivered
from pragmatic_ddd_sqlalchemy.engine import create_sqlite_engine
from pragmatic_ddd_sqlalchemy.schema import validate_schema
from pragmatic_ddd_sqlalchemy.schema_expressions import same_expression
from pragmatic_ddd_sqlalchemy.table import DUE, HINDERED
from tests import servers
from tests.databases import (
    OutboxDatabase,
    mariadb_engine,
    outbox_database,
    postgresql_engine,
    sqlite_engine,
)

_BY_AGGREGATE = "aggregate_type, aggregate_id, id"


@pytest.fixture
def postgresql() -> Iterator[OutboxDatabase]:
    with outbox_database(postgresql_engine()) as database:
        yield database


@pytest.fixture
def mariadb() -> Iterator[OutboxDatabase]:
    with outbox_database(mariadb_engine()) as database:
        yield database


def _problems(database: OutboxDatabase, *changes: str) -> list[str]:
    table = database.table.name
    with database.engine.begin() as connection:
        for change in changes:
            connection.exec_driver_sql(change.replace("{t}", table))
    with pytest.raises(OutboxSchemaError) as refused:
        validate_schema(database.engine, database.table)
    return [problem.replace(table, "t") for problem in refused.value.problems]


@pytest.mark.service("postgresql")
def test_everything_that_is_wrong_is_named_at_once(postgresql: OutboxDatabase) -> None:
    problems = _problems(
        postgresql,
        "ALTER TABLE {t} ALTER COLUMN id SET CACHE 20",
        "ALTER TABLE {t} ALTER COLUMN aggregate_id TYPE varchar(36)",
        "ALTER TABLE {t} ALTER COLUMN due_at TYPE timestamp",
        "ALTER TABLE {t} ALTER COLUMN aggregate_version TYPE integer",
        "ALTER TABLE {t} ALTER COLUMN payload TYPE jsonb USING payload::jsonb",
        "ALTER TABLE {t} ALTER COLUMN receipt SET NOT NULL",
        "ALTER TABLE {t} DROP COLUMN failures",
        "ALTER TABLE {t} ADD COLUMN tenant text NOT NULL",
        "ALTER TABLE {t} DROP CONSTRAINT {t}_message_id",
        "DROP INDEX {t}_due",
        "CREATE INDEX {t}_due ON {t} (due_at, id) WHERE status = 'PENDING'",
        "ALTER TABLE {t} SET UNLOGGED",
    )

    assert problems == [
        "column aggregate_id is VARCHAR(length=36), and must be TEXT",
        "column aggregate_version is INTEGER(), and must be BIGINT",
        "column payload is JSONB(astext_type=Text()), and must be TEXT",
        "column failures is missing",
        "column due_at is TIMESTAMP(), and must be TIMESTAMP WITH TIME ZONE",
        "column receipt must take NULL",
        "column tenant is not the outbox', and takes no NULL and has no default",
        "message_id must be unique: a message is stored once",
        f"there is no index t_due on (due_at, id) WHERE {DUE}",
        f"there is no index t_hindered on ({_BY_AGGREGATE}) WHERE {HINDERED}",
        "the sequence of id must have CACHE 1, not 20: ids give the order",
        "the table must be logged and permanent: any other loses its rows in a crash",
    ]


@pytest.mark.service("postgresql")
def test_what_is_wider_than_needed_is_accepted(postgresql: OutboxDatabase) -> None:
    with postgresql.engine.begin() as connection:
        for change in (
            "ALTER COLUMN attempts TYPE bigint",
            "ALTER COLUMN status TYPE varchar(20)",
            "ALTER COLUMN aggregate_id TYPE varchar",
            "ADD COLUMN note text",
            "ADD COLUMN region text NOT NULL DEFAULT 'eu'",
        ):
            connection.exec_driver_sql(f"ALTER TABLE {postgresql.table.name} {change}")

    validate_schema(postgresql.engine, postgresql.table)

    store = postgresql.store()
    store.store([a_message("m1")])
    assert store.mark_sent(delivered(*store.claim_pending(batch_size=9, lease=A_MINUTE))) == 1


@pytest.mark.service("postgresql")
def test_a_missing_table_is_named() -> None:
    with outbox_database(postgresql_engine()) as database:
        pass

    with pytest.raises(OutboxSchemaError, match=r"there is no table outbox_.*ddl\(\)"):
        validate_schema(database.engine, database.table)
    with pytest.raises(OutboxStoreError, match="does not exist"):
        database.store().claim_pending(batch_size=1, lease=A_MINUTE)
    database.engine.dispose()


@pytest.mark.service("mariadb")
def test_mariadb_with_the_defaults_of_an_old_server_is_refused(mariadb: OutboxDatabase) -> None:
    problems = _problems(
        mariadb,
        "ALTER TABLE {t} MODIFY payload TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL",
        "ALTER TABLE {t} MODIFY created_at DATETIME NOT NULL",
        "ALTER TABLE {t} MODIFY aggregate_id VARCHAR(200) CHARACTER SET utf8mb4 "
        "COLLATE utf8mb4_general_ci NOT NULL",
        "ALTER TABLE {t} MODIFY last_error VARCHAR(4000) CHARACTER SET utf8mb3",
        "ALTER TABLE {t} MODIFY event_type VARCHAR(100) CHARACTER SET utf8mb4 "
        "COLLATE utf8mb4_bin NOT NULL",
        "ALTER TABLE {t} DROP KEY {t}_due",
        "ALTER TABLE {t} DROP COLUMN unsent",
    )

    assert "column payload is TEXT(), and must be" in problems[1]
    assert problems[0].startswith("column event_type is VARCHAR(length=100), and must be VARCHAR")
    assert "column created_at is DATETIME(), and must be DATETIME(6)" in problems
    assert "index t_due must be there, on (due_sort, id)" in problems
    assert any(problem.startswith("index t_unsent must be there") for problem in problems)
    for column in ("aggregate_id", "last_error"):
        start = f"column {column} must be in utf8mb4 with a binary collation"
        assert any(problem.startswith(start) for problem in problems)
    assert any(
        problem.startswith("column unsent must be TINYINT GENERATED") for problem in problems
    )


@pytest.mark.service("mariadb")
def test_a_table_without_transactions_is_refused(mariadb: OutboxDatabase) -> None:
    problems = _problems(mariadb, "ALTER TABLE {t} ENGINE = Aria")

    assert problems == ["the table must be in InnoDB, not Aria: any other has no transactions"]


@pytest.mark.service("mariadb")
def test_a_connection_that_cannot_say_everything_is_refused(mariadb: OutboxDatabase) -> None:
    url = sa.make_url(servers.mariadb_url()).update_query_dict({"charset": "latin1"})
    engine = sa.create_engine(url)

    with pytest.raises(OutboxSchemaError, match="put charset=utf8mb4 into the URL"):
        validate_schema(engine, mariadb.table)
    engine.dispose()


def test_on_sqlite_looking_waits_for_no_writer(tmp_path: Path) -> None:
    engine = create_sqlite_engine(tmp_path / "outbox.db", busy_timeout=dt.timedelta())
    with outbox_database(engine) as database:
        with engine.begin():
            with pytest.raises(OutboxStoreError, match="locked"):
                database.store().store([a_message("m1")])
            validate_schema(engine, database.table)

        assert database.store().find("m1") is None


def test_sqlite_without_autoincrement_is_refused(tmp_path: Path) -> None:
    with outbox_database(sqlite_engine(tmp_path)) as database:
        name = database.table.name
        with database.engine.begin() as connection:
            sql = connection.exec_driver_sql(
                f"SELECT sql FROM sqlite_master WHERE name = '{name}'"
            ).scalar_one()
            connection.exec_driver_sql(f"DROP TABLE {name}")
            connection.exec_driver_sql(sql.replace("AUTOINCREMENT", ""))

        problems = _problems(database)

        assert len(problems) == 6
        assert problems[-1] == "id must be INTEGER PRIMARY KEY AUTOINCREMENT: no id may come twice"


_AS_POSTGRESQL_WRITES_IT = """
((status <> ALL (ARRAY['SENT'::text, 'SKIPPED'::text])) AND ((status <> 'PENDING'::text)
OR (failures > 0) OR (claim_token IS NOT NULL)))"""
_AS_POSTGRESQL_WRITES_IT_FOR_VARCHAR = """
(((status)::text <> ALL ((ARRAY['SENT'::character varying, 'SKIPPED'::character varying])::text[]))
AND (((status)::text <> 'PENDING'::text) OR (failures > 0) OR (claim_token IS NOT NULL)))"""
_AS_MYSQL_WRITES_IT = r"""
((`status` not in (_utf8mb4\'SENT\',_utf8mb4\'SKIPPED\')) and ((`status` <> _utf8mb4\'PENDING\')
or (`failures` > 0) or (`claim_token` is not null)))"""


@pytest.mark.parametrize(
    ("written", "same"),
    [
        (_AS_POSTGRESQL_WRITES_IT, True),
        (_AS_POSTGRESQL_WRITES_IT_FOR_VARCHAR, True),
        (_AS_MYSQL_WRITES_IT, True),
        (HINDERED.replace("failures", "attempts"), False),
        (HINDERED.replace("'SENT', ", ""), False),
        ("", False),
    ],
)
def test_a_condition_is_known_in_each_databases_words(written: str, *, same: bool) -> None:
    assert same_expression(written, HINDERED) is same
