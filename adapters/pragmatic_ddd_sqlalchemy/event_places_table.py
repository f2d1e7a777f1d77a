"""The table of the last places of aggregates: what the next event's message says was before it.

event_places_table(metadata)                          # in your own metadata, for Alembic
for statement in event_places_ddl("postgresql"):      # or by hand: op.execute(statement)
    print(statement)

It belongs into the database of the outbox. A row stays when its aggregate is deleted: a new one
with the same id goes on from it, in a new epoch.
"""

import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy.table import innodb, key_text
from pragmatic_ddd_sqlalchemy.table_ddl import creating


def event_places_table(
    metadata: sa.MetaData, name: str = "event_places", schema: str | None = None
) -> sa.Table:
    """Define the table in your metadata."""
    return sa.Table(
        name,
        metadata,
        sa.Column("aggregate_type", key_text(), primary_key=True),
        sa.Column("aggregate_id", key_text(), primary_key=True),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("aggregate_version", sa.BigInteger(), nullable=False),
        sa.Column("event_index", sa.Integer(), nullable=False),
        sa.Column("previous_version", sa.BigInteger()),
        sa.Column("previous_index", sa.Integer()),
        schema=schema,
        **innodb(),
    )


def event_places_ddl(dialect_name: str, table: sa.Table | None = None) -> list[str]:
    """Return the statements that create the table, for a migration or a person.

    Args:
        dialect_name: ``postgresql``, ``mysql``, ``mariadb`` or ``sqlite``.
        table: Made by ``event_places_table``; by default one with the default name.

    Raises:
        TypeError: It is no table.
        ValueError: There is no outbox on that database.
    """
    return creating(event_places_table(sa.MetaData()) if table is None else table, dialect_name)
