"""How the aggregates of the runs are stored: an id, a version, and a count of their events.

Each process maps its aggregate by itself, to the table that its run has.
"""

import sqlalchemy as sa
from sqlalchemy.orm import registry

from pragmatic_ddd import AggregateRoot


def aggregate_table(metadata: sa.MetaData, name: str, *, counting: str) -> sa.Table:
    """Return the table of an aggregate whose attribute ``counting`` counts its events."""
    return sa.Table(
        name,
        metadata,
        sa.Column("id", sa.String(60), primary_key=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column(counting, sa.Integer, nullable=False),
        mysql_engine="InnoDB",
    )


def map_aggregate(aggregate: type[AggregateRoot], table: sa.Table) -> None:
    registry().map_imperatively(aggregate, table, version_id_col=table.c.version)
