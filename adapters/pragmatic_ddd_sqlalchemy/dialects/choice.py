"""Which SQL a database speaks."""

import sqlalchemy as sa

from pragmatic_ddd.errors import OutboxSchemaError
from pragmatic_ddd_sqlalchemy.dialects.dialect import IOutboxDialect
from pragmatic_ddd_sqlalchemy.dialects.mysql import MySqlDialect
from pragmatic_ddd_sqlalchemy.dialects.postgresql import PostgreSqlDialect
from pragmatic_ddd_sqlalchemy.dialects.sqlite import SqliteDialect

_DIALECTS: dict[str, type[PostgreSqlDialect | MySqlDialect | SqliteDialect]] = {
    "postgresql": PostgreSqlDialect,
    "mysql": MySqlDialect,
    "mariadb": MySqlDialect,
    "sqlite": SqliteDialect,
}


def outbox_dialect(table: sa.Table, dialect: sa.Dialect) -> IOutboxDialect:
    """Return the SQL for a table on the kind of database that an engine talks to.

    Raises:
        OutboxSchemaError: The outbox does not run on that kind of database.
    """
    kind = _DIALECTS.get(dialect.name)
    if kind is None:
        raise OutboxSchemaError([f"no outbox on {dialect.name!r}, only on {', '.join(_DIALECTS)}"])
    return kind.for_table(table, dialect)
