"""The database of a run: inboxes, effects, and what counts them; the same in each process."""

import json
from pathlib import Path
from typing import Self

import attrs
import sqlalchemy as sa
from sqlalchemy.orm import Session, registry, sessionmaker

from pragmatic_ddd import AggregateRoot
from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd_sqlalchemy import (
    SqlAlchemyInbox,
    SqlAlchemyOutbox,
    SqlAlchemyOutboxStore,
    SqlAlchemyUnitsOfWork,
    SqlAlchemyWatermarkInbox,
    inbox_table,
    read_only,
    watermark_table,
)
from tests.acceptance.once.history import serializer
from tests.databases import mariadb_engine, postgresql_engine, sqlite_engine


class Tally(AggregateRoot, name="once.tally"):
    """Counts the events of one aggregate, and knows the number of the last one."""

    count: int = 0
    last: int = 0


@attrs.frozen(kw_only=True)
class Part:
    """One run of one inbox.

    Attributes:
        inbox: A name of ``consumer.SUBSCRIBERS``.
        database: ``postgresql``, ``mariadb`` or ``sqlite``.
        prefix: Of its tables, and its keys in Redis.
        folder: Where the logs are, and SQLite's file.
    """

    inbox: str
    database: str
    prefix: str
    folder: str

    def to_text(self) -> str:
        return json.dumps(attrs.asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(**json.loads(text))

    def engine(self) -> sa.Engine:
        if self.database == "sqlite":
            return sqlite_engine(Path(self.folder))
        if self.database == "mariadb":
            return mariadb_engine(None)  # at REPEATABLE READ, its default
        return postgresql_engine()


@attrs.define(eq=False)
class Ground:
    """Tables and sessions of a part."""

    part: Part
    engine: sa.Engine = attrs.field(init=False)
    metadata: sa.MetaData = attrs.field(factory=sa.MetaData, init=False)
    messages: sa.Table = attrs.field(init=False)
    watermarks: sa.Table = attrs.field(init=False)
    tallies: sa.Table = attrs.field(init=False)
    effects: sa.Table = attrs.field(init=False)
    sessions: sessionmaker[Session] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        prefix = self.part.prefix
        self.engine = self.part.engine()
        self.messages = inbox_table(self.metadata, f"{prefix}_message")
        self.watermarks = watermark_table(self.metadata, f"{prefix}_watermark")
        self.tallies = sa.Table(
            f"{prefix}_tally",
            self.metadata,
            sa.Column("id", sa.String(50), primary_key=True),
            sa.Column("count", sa.Integer, nullable=False),
            sa.Column("last", sa.Integer, nullable=False),
            sa.Column("version", sa.Integer, nullable=False),
        )
        # No key of its own: whatever is applied twice is there twice.
        self.effects = sa.Table(
            f"{prefix}_effect",
            self.metadata,
            sa.Column(
                "id",
                sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
                sa.Identity(cache=1),
                primary_key=True,
            ),
            sa.Column("aggregate_id", sa.String(50), nullable=False),
            sa.Column("number", sa.Integer, nullable=False),
        )
        self.sessions = sessionmaker(self.engine)

    def create(self, aggregate_ids: set[str]) -> None:
        self.metadata.create_all(self.engine)
        rows = [{"id": one, "count": 0, "last": 0, "version": 1} for one in sorted(aggregate_ids)]
        with self.engine.begin() as connection:
            connection.execute(sa.insert(self.tallies), rows)

    def drop(self) -> None:
        self.metadata.drop_all(self.engine)
        self.engine.dispose()

    def message_inbox(self) -> SqlAlchemyInbox[Session]:
        return SqlAlchemyInbox(self.sessions, self.messages)

    def watermark_inbox(self) -> SqlAlchemyWatermarkInbox[Session]:
        return SqlAlchemyWatermarkInbox(self.sessions, self.watermarks)

    def units_of_work(self) -> SqlAlchemyUnitsOfWork:
        """Return units of work over tallies; their outbox stays empty."""
        registry().map_imperatively(Tally, self.tallies, version_id_col=self.tallies.c.version)
        sessions = sessionmaker(self.engine)
        SqlAlchemyOutbox(
            store=SqlAlchemyOutboxStore(self.engine),
            encoding=EventEncoding(serializer=serializer),
        ).attach(sessions)
        return SqlAlchemyUnitsOfWork(sessions)

    def applied(self) -> list[tuple[str, int]]:
        """Return aggregate and number of each effect, in the order in which they were written."""
        effect = self.effects.c
        statement = sa.select(effect.aggregate_id, effect.number).order_by(effect.id)
        with read_only(self.engine).connect() as connection:
            return [(key, number) for key, number in connection.execute(statement)]

    def counted(self) -> int:
        """Return the sum of all tallies."""
        statement = sa.select(sa.func.sum(self.tallies.c["count"]))
        with read_only(self.engine).connect() as connection:
            return int(connection.execute(statement).scalar_one())

    def rows(self) -> int:
        """Return how many rows the inboxes have."""
        with read_only(self.engine).connect() as connection:
            counts = [
                connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
                for table in (self.messages, self.watermarks)
            ]
        return sum(counts)
