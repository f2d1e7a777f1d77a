"""The outbox table: its columns, types and indexes on PostgreSQL, MySQL, MariaDB and SQLite.

    metadata.create_all(engine)              # tests and first steps
    for statement in ddl("postgresql"):      # migrations: op.execute(statement)
        print(statement)

Three indexes hold only rows that are not yet sent. PostgreSQL and SQLite have partial indexes
for that; on MySQL and MariaDB stored generated columns, which no other database needs, are
added right after the table and stand in for them.
"""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from pragmatic_ddd.application.arguments import check_type
from pragmatic_ddd.ports.outbox_message import OutboxStatus

LONGEST_KEY = 200
LONGEST_TOKEN = 64
LONGEST_ERROR = 4000
LONGEST_RECEIPT = 500

DUE = "status IN ('PENDING', 'PROCESSING')"
UNSENT = "status NOT IN ('SENT', 'SKIPPED')"
HINDERED = f"{UNSENT} AND (status <> 'PENDING' OR failures > 0 OR claim_token IS NOT NULL)"
FAILED = "status = 'FAILED'"
_STATES = f"status IN ({', '.join(repr(str(status)) for status in OutboxStatus)})"

# What a generated column holds for the rows that its index is about; NULL for all others.
GENERATED = {
    "due_sort": ("DATETIME(6)", f"CASE WHEN {DUE} THEN due_at END"),
    "unsent": ("TINYINT", f"CASE WHEN {UNSENT} THEN 1 END"),
    "hindered": ("TINYINT", f"CASE WHEN {HINDERED} THEN 1 END"),
}
GENERATED_KEYS = {
    "due": ("due_sort", "id"),
    "unsent": ("unsent", "aggregate_type", "aggregate_id", "id"),
    "hindered": ("hindered", "aggregate_type", "aggregate_id", "id"),
}

_MYSQL = ("mysql", "mariadb")
_PARTIAL = ("postgresql", "sqlite")
_DIALECT_URLS = {
    "postgresql": "postgresql+psycopg://",
    "mysql": "mysql+pymysql://",
    "mariadb": "mariadb+pymysql://",
    "sqlite": "sqlite://",
}


def outbox_table(
    metadata: sa.MetaData, name: str = "outbox_message", schema: str | None = None
) -> sa.Table:
    """Define the outbox table in your metadata; its indexes are named after the table."""
    table: sa.Table = sa.Table(
        name,
        metadata,
        # The order of events within an aggregate is the order of ids: no block of ids may be
        # handed to one connection in advance (CACHE 1), none may come twice (AUTOINCREMENT).
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            sa.Identity(cache=1),
            primary_key=True,
        ),
        sa.Column("message_id", key_text(), nullable=False),
        sa.Column("aggregate_type", key_text(), nullable=False),
        sa.Column("aggregate_id", key_text(), nullable=False),
        sa.Column("aggregate_version", sa.BigInteger()),
        sa.Column("event_index", sa.Integer(), nullable=False),
        sa.Column("event_type", key_text(), nullable=False),
        sa.Column("event_version", sa.Integer(), nullable=False),
        sa.Column("payload", long_text(), nullable=False),
        sa.Column("headers", long_text(), nullable=False),
        sa.Column("status", exact_text(max(map(len, OutboxStatus))), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("due_at", instant(), nullable=False),
        sa.Column("claim_token", exact_text(LONGEST_TOKEN)),
        sa.Column("claimed_at", instant()),
        sa.Column("last_error", exact_text(LONGEST_ERROR)),
        sa.Column("created_at", instant(), nullable=False),
        sa.Column("sent_at", instant()),
        sa.Column("receipt", exact_text(LONGEST_RECEIPT)),
        sa.UniqueConstraint("message_id", name=f"{name}_message_id"),
        sa.CheckConstraint(_STATES, name=f"{name}_status"),
        schema=schema,
        sqlite_autoincrement=True,
        **innodb(),
    )
    _index_partially(table)
    _index_by_generated_columns(table)
    return table


def ddl(dialect_name: str, table: sa.Table | None = None) -> list[str]:
    """Return the statements that create the table, for a migration or a person.

    Args:
        dialect_name: ``postgresql``, ``mysql``, ``mariadb`` or ``sqlite``.
        table: Made by ``outbox_table``; by default one with the default name.

    Raises:
        TypeError: It is no table.
        ValueError: The outbox does not run on that database.
    """
    dialect = dialect_named(dialect_name)
    chosen = outbox_table(sa.MetaData()) if table is None else table
    check_type("table", chosen, sa.Table)
    return list(_statements(chosen, dialect))


def dialect_named(name: str) -> sa.Dialect:
    """Return SQLAlchemy's dialect of a database on which the outbox runs.

    Raises:
        ValueError: It does not run there.
    """
    url = _DIALECT_URLS.get(name)
    if url is None:
        raise ValueError(f"no outbox on {name!r}, only on {', '.join(_DIALECT_URLS)}")
    return sa.make_url(url).get_dialect()()


def index_name(table: sa.Table, suffix: str) -> str:
    """Return the name of one of the table's indexes: ``due``, ``unsent``, ``hindered``, …."""
    return f"{table.name}_{suffix}"


def key_text() -> sa.types.TypeEngine[str]:
    """Return the type of names and keys: text of up to ``LONGEST_KEY``, compared exactly."""
    return exact_text(LONGEST_KEY)


def exact_text(length: int) -> sa.types.TypeEngine[str]:
    """Return the type of short text, compared exactly; only MySQL and MariaDB limit it."""
    return sa.Text().with_variant(
        mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin"), *_MYSQL
    )


def long_text() -> sa.types.TypeEngine[str]:
    """Return the type of text without an end, compared exactly."""
    return sa.Text().with_variant(
        mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin"), *_MYSQL
    )


def instant() -> sa.types.TypeEngine[dt.datetime]:
    """Return the type of instants to the microsecond; they come back naive, but on PostgreSQL."""
    # Without (6), MySQL rounds into the next second and MariaDB cuts.
    return sa.DateTime(timezone=True).with_variant(mysql.DATETIME(fsp=6), *_MYSQL)


def innodb() -> dict[str, Any]:
    """Return the options of a table that has transactions on MySQL and MariaDB, too."""
    options = {"engine": "InnoDB", "charset": "utf8mb4", "collate": "utf8mb4_bin"}
    return {f"{dialect}_{key}": value for dialect in _MYSQL for key, value in options.items()}


def _index_partially(table: sa.Table) -> None:
    by_aggregate = (table.c.aggregate_type, table.c.aggregate_id, table.c.id)
    for suffix, columns, rows in (
        ("due", (table.c.due_at, table.c.id), DUE),
        ("unsent", by_aggregate, UNSENT),
        ("hindered", by_aggregate, HINDERED),
        ("failed", (table.c.id,), FAILED),
    ):
        predicate = sa.text(rows)
        sa.Index(
            index_name(table, suffix),
            *columns,
            postgresql_where=predicate,
            sqlite_where=predicate,
        ).ddl_if(callable_=_has_partial_indexes)
    ended = table.c.sent_at
    where = ended.is_not(None)
    sa.Index(index_name(table, "ended"), ended, postgresql_where=where, sqlite_where=where)


def _has_partial_indexes(*_: object, dialect: sa.Dialect, **__: object) -> bool:
    return dialect.name in _PARTIAL


def _has_generated_columns(*_: object, dialect: sa.Dialect, **__: object) -> bool:
    return dialect.name in _MYSQL


def _index_by_generated_columns(table: sa.Table) -> None:
    alter = _generated_columns(table).execute_if(callable_=_has_generated_columns)
    sa.event.listen(table, "after_create", alter)


def _generated_columns(table: sa.Table) -> sa.schema.ExecutableDDLElement:
    columns = [
        f"ADD COLUMN {name} {kind} GENERATED ALWAYS AS ({value}) STORED"
        for name, (kind, value) in GENERATED.items()
    ]
    keys = [
        f"ADD KEY {_backticked(index_name(table, suffix))} ({', '.join(names)})"
        for suffix, names in GENERATED_KEYS.items()
    ]
    alter: sa.schema.ExecutableDDLElement = sa.DDL(  # type: ignore[no-untyped-call]  # SQLAlchemy has left it untyped
        "ALTER TABLE %(fullname)s\n  " + ",\n  ".join((*columns, *keys))
    )
    return alter.against(table)


def _backticked(name: str) -> str:
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


def _statements(table: sa.Table, dialect: sa.Dialect) -> Iterator[str]:
    yield _printed(sa.schema.CreateTable(table), dialect)
    for index in sorted(table.indexes, key=lambda index: str(index.name)):
        creation = sa.schema.CreateIndex(index)
        if dialect.name in _PARTIAL or index.name == index_name(table, "ended"):
            yield _printed(creation, dialect)
    if dialect.name in _MYSQL:
        yield _printed(_generated_columns(table), dialect)


def _printed(element: sa.schema.ExecutableDDLElement, dialect: sa.Dialect) -> str:
    return str(element.compile(dialect=dialect)).strip()


metadata = sa.MetaData()
outbox_message = outbox_table(metadata)
