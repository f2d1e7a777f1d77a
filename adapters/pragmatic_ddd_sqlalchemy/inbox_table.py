"""The tables of inboxes: what was handled, message by message or place by place.

inbox_table(metadata)                           # in your own metadata, for Alembic
watermark_table(metadata)
for statement in inbox_ddl("postgresql"):       # or by hand: op.execute(statement)
    print(statement)

They belong into the database to which the handlers write.
"""

import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy.table import innodb, instant, key_text
from pragmatic_ddd_sqlalchemy.table_ddl import creating


def inbox_table(
    metadata: sa.MetaData, name: str = "inbox_message", schema: str | None = None
) -> sa.Table:
    """Define the table of messages that were handled in your metadata."""
    return sa.Table(
        name,
        metadata,
        sa.Column("subscriber", key_text(), primary_key=True),
        sa.Column("message_id", key_text(), primary_key=True),
        sa.Column("handled_at", instant(), nullable=False),
        sa.Index(f"{name}_handled", "handled_at"),
        schema=schema,
        **innodb(),
    )


def watermark_table(
    metadata: sa.MetaData, name: str = "inbox_watermark", schema: str | None = None
) -> sa.Table:
    """Define the table of the last places that were handled in your metadata."""
    return sa.Table(
        name,
        metadata,
        sa.Column("subscriber", key_text(), primary_key=True),
        sa.Column("aggregate_type", key_text(), primary_key=True),
        sa.Column("aggregate_id", key_text(), primary_key=True),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("aggregate_version", sa.BigInteger(), nullable=False),
        sa.Column("event_index", sa.Integer(), nullable=False),
        sa.Column("handled_at", instant(), nullable=False),
        schema=schema,
        **innodb(),
    )


def inbox_ddl(dialect_name: str, table: sa.Table | None = None) -> list[str]:
    """Return the statements that create the table of messages, for a migration or a person.

    Args:
        dialect_name: ``postgresql``, ``mysql``, ``mariadb`` or ``sqlite``.
        table: Made by ``inbox_table``; by default one with the default name.

    Raises:
        TypeError: It is no table.
        ValueError: There is no inbox on that database.
    """
    return creating(inbox_table(sa.MetaData()) if table is None else table, dialect_name)


def watermark_ddl(dialect_name: str, table: sa.Table | None = None) -> list[str]:
    """Do the same for the table of places, made by ``watermark_table``.

    Raises:
        TypeError: It is no table.
        ValueError: There is no inbox on that database.
    """
    return creating(watermark_table(sa.MetaData()) if table is None else table, dialect_name)
