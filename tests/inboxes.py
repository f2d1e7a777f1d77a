"""Inboxes on a database, with tables that no other test run has, and a table of effects."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import sqlalchemy as sa
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.ports import IInbox
from pragmatic_ddd_sqlalchemy import (
    SqlAlchemyInbox,
    SqlAlchemyUnitOfWork,
    SqlAlchemyWatermarkInbox,
    inbox_table,
    read_only,
    watermark_table,
)

Work = Session | SqlAlchemyUnitOfWork


@attrs.frozen(eq=False)
class InboxDatabase:
    """A database to which handlers write effects."""

    engine: sa.Engine
    messages: sa.Table
    watermarks: sa.Table
    effects: sa.Table

    @property
    def sessions(self) -> sessionmaker[Session]:
        return sessionmaker(self.engine)

    def message_inbox(self, begin: Callable[[], Session] | None = None) -> SqlAlchemyInbox[Session]:
        return SqlAlchemyInbox(begin or self.sessions, self.messages)

    def watermark_inbox(
        self, begin: Callable[[], Session] | None = None, *, unplaced: IInbox[Session] | None = None
    ) -> SqlAlchemyWatermarkInbox[Session]:
        return SqlAlchemyWatermarkInbox(begin or self.sessions, self.watermarks, unplaced=unplaced)

    def write(self, work: Work, effect: str) -> None:
        session = work.session if isinstance(work, SqlAlchemyUnitOfWork) else work
        session.execute(sa.insert(self.effects).values(effect=effect))

    def committed_effects(self) -> Sequence[str]:
        statement = sa.select(self.effects.c.effect).order_by(self.effects.c.id)
        with read_only(self.engine).connect() as connection:
            return connection.scalars(statement).all()

    def clear(self) -> None:
        with self.engine.begin() as connection:
            for table in (self.messages, self.watermarks, self.effects):
                connection.execute(sa.delete(table))

    def count(self, table: sa.Table) -> int:
        statement = sa.select(sa.func.count()).select_from(table)
        with read_only(self.engine).connect() as connection:
            return connection.execute(statement).scalar_one()


@contextmanager
def inbox_database(engine: sa.Engine) -> Iterator[InboxDatabase]:
    """Create the tables, and drop them in the end."""
    metadata, prefix = sa.MetaData(), f"i{secrets.token_hex(5)}"
    database = InboxDatabase(
        engine=engine,
        messages=inbox_table(metadata, f"{prefix}_message"),
        watermarks=watermark_table(metadata, f"{prefix}_watermark"),
        effects=sa.Table(
            f"{prefix}_effect",
            metadata,
            sa.Column(
                "id",
                sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
                sa.Identity(cache=1),
                primary_key=True,
            ),
            sa.Column("effect", sa.String(200), nullable=False),
            mysql_engine="InnoDB",
            mariadb_engine="InnoDB",
        ),
    )
    metadata.create_all(engine)
    try:
        yield database
    finally:
        metadata.drop_all(engine)
        engine.dispose()


@attrs.frozen(eq=False)
class InboxGround:
    """What the contract is given: an ``IInboxUnderTest``."""

    database: InboxDatabase
    make: Callable[[], IInbox[Any]]

    def inbox(self) -> IInbox[Any]:
        return self.make()

    def write(self, work: Any, effect: str) -> None:  # noqa: ANN401  # whatever the inbox works in
        self.database.write(work, effect)

    def effects(self) -> Sequence[str]:
        return self.database.committed_effects()
