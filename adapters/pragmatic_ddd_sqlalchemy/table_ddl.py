"""The statements that create a plain table with its indexes, as text for a migration."""

import sqlalchemy as sa

from pragmatic_ddd.application.arguments import check_type
from pragmatic_ddd_sqlalchemy.table import dialect_named


def creating(table: sa.Table, dialect_name: str) -> list[str]:
    """Return them.

    Raises:
        TypeError: It is no table.
        ValueError: Nothing of this package runs on that database.
    """
    dialect = dialect_named(dialect_name)
    check_type("table", table, sa.Table)
    indexes = sorted(table.indexes, key=lambda index: str(index.name))
    elements: list[sa.schema.ExecutableDDLElement] = [
        sa.schema.CreateTable(table),
        *map(sa.schema.CreateIndex, indexes),
    ]
    return [str(element.compile(dialect=dialect)).strip() for element in elements]
