"""Is the live table what the outbox needs? Asked at start-up, answered with all that is wrong.

    validate_schema(engine)          # raises OutboxSchemaError

A table made by hand, by an old migration or by a server with other defaults fails late and in
silence: payloads cut, times rounded, keys that are equal without being the same, ids handed out
in blocks, claims that lock the whole table.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import NoSuchTableError

from pragmatic_ddd.application.arguments import check_type
from pragmatic_ddd.errors import OutboxSchemaError
from pragmatic_ddd_sqlalchemy.dialects import outbox_dialect
from pragmatic_ddd_sqlalchemy.engine import read_only, refuse_async
from pragmatic_ddd_sqlalchemy.errors import translated
from pragmatic_ddd_sqlalchemy.schema_catalogs import catalog_of
from pragmatic_ddd_sqlalchemy.schema_expressions import same_expression
from pragmatic_ddd_sqlalchemy.schema_types import type_problem
from pragmatic_ddd_sqlalchemy.table import (
    DUE,
    FAILED,
    GENERATED_KEYS,
    HINDERED,
    UNSENT,
    index_name,
    outbox_message,
)

_BY_AGGREGATE = ("aggregate_type", "aggregate_id", "id")
_PARTIAL_INDEXES: dict[str, tuple[tuple[str, ...], str]] = {
    "due": (("due_at", "id"), DUE),
    "unsent": (_BY_AGGREGATE, UNSENT),
    "hindered": (_BY_AGGREGATE, HINDERED),
    "failed": (("id",), FAILED),
    "ended": (("sent_at",), "sent_at IS NOT NULL"),
}

Reflected = Mapping[str, Any]


def validate_schema(engine: sa.Engine, table: sa.Table = outbox_message) -> None:
    """Compare the live outbox table with what the outbox needs; changes nothing.

    Args:
        engine: The engine that the outbox store uses.
        table: The table that the outbox store uses.

    Raises:
        OutboxSchemaError: Something is missing or different; names all of it at once.
        OutboxStoreError: The database could not be asked.
        ConfigurationError: The engine is async.
        TypeError: It is no engine, or no table.
    """
    refuse_async(engine)
    check_type("table", table, sa.Table)
    with translated(), read_only(engine).connect() as connection:
        dialect = outbox_dialect(table, connection.dialect)
        if not dialect.serves(connection.dialect):
            version = ".".join(map(str, connection.dialect.server_version_info or ()))
            problems = [f"the outbox needs {dialect.oldest_server} or newer, this is {version}"]
        else:
            problems = list(_problems(connection, table))
    if problems:
        raise OutboxSchemaError(problems)


def _problems(connection: sa.Connection, table: sa.Table) -> Iterator[str]:
    inspector = sa.inspect(connection)
    try:
        columns = inspector.get_columns(table.name, schema=table.schema)
    except NoSuchTableError:
        yield f"there is no table {table.fullname}: create it with the statements of ddl()"
        return
    live = {column["name"]: dict(column) for column in columns}
    yield from _column_problems(table, live, connection.dialect.name)
    yield from _key_problems(inspector, table)
    indexes = inspector.get_indexes(table.name, schema=table.schema)
    if connection.dialect.name in ("mysql", "mariadb"):
        yield from _generated_index_problems(table, indexes)
    else:
        yield from _partial_index_problems(table, indexes, connection.dialect.name)
    yield from catalog_of(connection.dialect.name)(connection, table)


def _column_problems(
    table: sa.Table, live: Mapping[str, Reflected], dialect_name: str
) -> Iterator[str]:
    for column in table.columns:
        found = live.get(column.name)
        if found is None:
            yield f"column {column.name} is missing"
            continue
        problem = type_problem(column, found["type"], dialect_name)
        if problem:
            yield problem
        if column.nullable and not found["nullable"]:
            yield f"column {column.name} must take NULL"
    for name, found in live.items():
        has_value = found["nullable"] or found["default"] or found.get("computed")
        if name not in table.columns and not has_value:
            yield f"column {name} is not the outbox', and takes no NULL and has no default"


def _key_problems(inspector: sa.Inspector, table: sa.Table) -> Iterator[str]:
    primary = inspector.get_pk_constraint(table.name, schema=table.schema)
    if primary["constrained_columns"] != ["id"]:
        yield "the primary key must be id, and nothing else"
    unique = [
        found["column_names"]
        for found in (
            *inspector.get_unique_constraints(table.name, schema=table.schema),
            *(
                index
                for index in inspector.get_indexes(table.name, schema=table.schema)
                if index["unique"]
            ),
        )
    ]
    if ["message_id"] not in unique:
        yield "message_id must be unique: a message is stored once"


def _partial_index_problems(
    table: sa.Table, indexes: list[Any], dialect_name: str
) -> Iterator[str]:
    for suffix, (columns, rows) in _PARTIAL_INDEXES.items():
        name = index_name(table, suffix)
        if not any(
            tuple(index["column_names"]) == columns
            and same_expression(
                str(index.get("dialect_options", {}).get(f"{dialect_name}_where", "")), rows
            )
            # SQLite is told which index to use, or would take a larger one.
            and (dialect_name != "sqlite" or index["name"] == name)
            for index in indexes
        ):
            yield f"there is no index {name} on ({', '.join(columns)}) WHERE {rows}"


def _generated_index_problems(table: sa.Table, indexes: list[Any]) -> Iterator[str]:
    live = {index["name"]: tuple(index["column_names"]) for index in indexes}
    by_value = {"ended": ("sent_at",), "message_id": ("message_id",)}
    for suffix, columns in {**GENERATED_KEYS, **by_value}.items():
        name = index_name(table, suffix)
        if live.get(name) != columns:
            yield f"index {name} must be there, on ({', '.join(columns)})"
