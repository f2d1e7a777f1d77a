"""An aggregate that counts its changes, so that its row can be compared with its events."""

import sqlalchemy as sa
from sqlalchemy.orm import registry, relationship

from pragmatic_ddd.domain import AggregateRoot, Entity
from tests.adapters.sqlalchemy.models import PREFIX, Happened, metadata
from tests.adapters.sqlalchemy.session_model import CHANGE, CHILD, SILENT


class Mark(Entity):
    """The child of a tally."""

    tally_id: str | None = None
    quantity: int = 0


class Tally(AggregateRoot, name="test.tally"):
    """Counts the changes of itself and, in its child, of that."""

    count: int = 0
    silent: int = 0
    label: str | None = None
    marks: list[Mark]

    @classmethod
    def opened(cls, id_: str, label: str | None = None) -> "Tally":
        return cls(id=id_, label=label, marks=[Mark(id=f"{id_}-1")])

    def act(self, kind: str, what: str) -> None:
        if kind == CHANGE:
            self.count += 1
        elif kind == CHILD:
            self.marks[0].quantity += 1
        elif kind == SILENT:
            self.silent += 1
        if kind != SILENT:
            self.collect_event(Happened(aggregate_id=self.id, what=what))


tally_table = sa.Table(
    f"{PREFIX}_tally",
    metadata,
    sa.Column("id", sa.String(50), primary_key=True),
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("silent", sa.Integer, nullable=False),
    sa.Column("label", sa.String(50), unique=True),
    sa.Column("version", sa.Integer, nullable=False),
)
mark_table = sa.Table(
    f"{PREFIX}_mark",
    metadata,
    sa.Column("id", sa.String(50), primary_key=True),
    sa.Column("tally_id", sa.ForeignKey(tally_table.c.id), nullable=False),
    sa.Column("quantity", sa.Integer, nullable=False),
)
_registry = registry(metadata=metadata)
_registry.map_imperatively(Mark, mark_table)
_registry.map_imperatively(
    Tally,
    tally_table,
    version_id_col=tally_table.c.version,
    properties={"marks": relationship(Mark, cascade="all, delete-orphan")},
)
