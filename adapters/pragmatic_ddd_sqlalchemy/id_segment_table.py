"""The table of id sequences: one row for each, with the last id that was reserved.

id_segment_table(metadata)                         # in your own metadata, for Alembic
for statement in id_segment_ddl("postgresql"):     # or by hand: op.execute(statement)
    print(statement)
"""

import sqlalchemy as sa

from pragmatic_ddd.application.arguments import check_type
from pragmatic_ddd_sqlalchemy.table import dialect_named, innodb, key_text


def id_segment_table(
    metadata: sa.MetaData, name: str = "id_segment", schema: str | None = None
) -> sa.Table:
    """Define the table in your metadata."""
    return sa.Table(
        name,
        metadata,
        sa.Column("sequence", key_text(), primary_key=True),
        sa.Column("last_id", sa.BigInteger(), nullable=False),
        schema=schema,
        **innodb(),
    )


def id_segment_ddl(dialect_name: str, table: sa.Table | None = None) -> list[str]:
    """Return the statements that create the table, for a migration or a person.

    Args:
        dialect_name: ``postgresql``, ``mysql``, ``mariadb`` or ``sqlite``.
        table: Made by ``id_segment_table``; by default one with the default name.

    Raises:
        TypeError: It is no table.
        ValueError: There is no outbox on that database, and no sequences of ids.
    """
    dialect = dialect_named(dialect_name)
    chosen = id_segment_table(sa.MetaData()) if table is None else table
    check_type("table", chosen, sa.Table)
    return [str(sa.schema.CreateTable(chosen).compile(dialect=dialect)).strip()]
