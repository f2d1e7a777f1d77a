"""What only a database's own catalogue tells of the outbox table."""

from collections.abc import Callable, Iterator

import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy.connection_capacity import capacity_of
from pragmatic_ddd_sqlalchemy.schema_expressions import same_expression
from pragmatic_ddd_sqlalchemy.table import GENERATED

Catalog = Callable[[sa.Connection, sa.Table], Iterator[str]]

_SEQUENCE = sa.text("""
SELECT s.seqcache, s.seqincrement, s.seqcycle FROM pg_sequence AS s
WHERE s.seqrelid = CAST(pg_get_serial_sequence(:table, 'id') AS regclass)
""")
_PERSISTENCE = sa.text("SELECT relpersistence FROM pg_class WHERE oid = CAST(:table AS regclass)")
_SERVER_ENCODING = sa.text("SHOW server_encoding")

_TABLE = sa.text("""
SELECT engine FROM information_schema.tables
WHERE table_schema = COALESCE(:schema, DATABASE()) AND table_name = :name
""")
_COLUMNS = sa.text("""
SELECT column_name AS name, collation_name AS collation,
    generation_expression AS expression, extra
FROM information_schema.columns
WHERE table_schema = COALESCE(:schema, DATABASE()) AND table_name = :name
""")

_SQLITE_TABLE = sa.text("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = :name")


def catalog_of(dialect_name: str) -> Catalog:
    """Return what reads the catalogue of a kind of database."""
    return {
        "postgresql": _postgresql,
        "mysql": _mysql,
        "mariadb": _mysql,
        "sqlite": _sqlite,
    }[dialect_name]


def _postgresql(connection: sa.Connection, table: sa.Table) -> Iterator[str]:
    quoted = {"table": connection.dialect.identifier_preparer.format_table(table)}
    sequence = connection.execute(_SEQUENCE, quoted).one_or_none()
    if sequence is None:
        yield "id must be an identity column, or have a sequence that it owns"
    else:
        cache, increment, cycles = sequence
        if cache != 1:
            yield f"the sequence of id must have CACHE 1, not {cache}: ids give the order"
        if increment < 1 or cycles:
            yield "the sequence of id must count upwards and not begin anew"
    if connection.execute(_PERSISTENCE, quoted).scalar_one() not in ("p", b"p"):
        yield "the table must be logged and permanent: any other loses its rows in a crash"
    encoding = connection.execute(_SERVER_ENCODING).scalar_one()
    if encoding != "UTF8":
        yield f"the database must be in UTF8, not {encoding}"
    yield from capacity_of(connection).problems


def _mysql(connection: sa.Connection, table: sa.Table) -> Iterator[str]:
    where = {"schema": table.schema, "name": table.name}
    engine = connection.execute(_TABLE, where).scalar_one()
    if engine != "InnoDB":
        yield f"the table must be in InnoDB, not {engine}: any other has no transactions"
    columns = {row.name: row for row in connection.execute(_COLUMNS, where)}
    for name, column in columns.items():
        if name in table.columns and column.collation is not None:
            yield from _collation_problems(name, str(column.collation))
    for name, (kind, value) in GENERATED.items():
        live = columns.get(name)
        is_stored = live is not None and "STORED" in str(live.extra).upper()
        if live is None or not is_stored or not same_expression(str(live.expression), value):
            yield f"column {name} must be {kind} GENERATED ALWAYS AS ({value}) STORED"
    yield from capacity_of(connection).problems


def _collation_problems(name: str, collation: str) -> Iterator[str]:
    if not (collation.startswith("utf8mb4_") and collation.endswith("_bin")):
        yield (
            f"column {name} must be in utf8mb4 with a binary collation such as utf8mb4_bin, "
            f"not in {collation}"
        )


def _sqlite(connection: sa.Connection, table: sa.Table) -> Iterator[str]:
    sql = str(connection.execute(_SQLITE_TABLE, {"name": table.name}).scalar())
    if "AUTOINCREMENT" not in sql.upper():
        yield "id must be INTEGER PRIMARY KEY AUTOINCREMENT: no id may come twice"
