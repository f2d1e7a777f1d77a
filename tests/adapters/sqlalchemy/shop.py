"""A shop with an outbox attached to its sessions, on a real database, and an ear at its exit."""

import contextlib
import datetime as dt
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import sqlalchemy as sa
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.application.outbox.encoding import EventEncoding
from pragmatic_ddd.ports import Reservation, StoredMessage
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_sqlalchemy.engine import create_sqlite_engine
from pragmatic_ddd_sqlalchemy.outbox import SqlAlchemyOutbox
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from tests import servers
from tests.adapters.sqlalchemy.models import Order, metadata, order_table, outbox_message


@attrs.define
class RecordingEagerPath:
    """Remembers what it is told, and lets a test do something when it is told."""

    reserved: list[Reservation] = attrs.field(factory=list)
    cancelled: list[Reservation] = attrs.field(factory=list)
    announced: list[tuple[list[StoredMessage], Reservation | None]] = attrs.field(factory=list)
    is_full: bool = False

    def reserve(self, count: int) -> Reservation | None:
        if self.is_full:
            return None
        reservation = Reservation(claim_token=secrets.token_hex(8), grace=dt.timedelta(seconds=30))
        self.reserved.append(reservation)
        return reservation

    def announce(self, stored: Sequence[StoredMessage], reservation: Reservation | None) -> None:
        self.announced.append((list(stored), reservation))

    def cancel(self, reservation: Reservation) -> None:
        self.cancelled.append(reservation)

    def forget(self) -> None:
        self.reserved.clear()
        self.announced.clear()

    @property
    def announced_types(self) -> list[str]:
        return [one.message.event_type for stored, _ in self.announced for one in stored]


@attrs.define
class Shop:
    """Its engine, its sessions, and what an outsider sees."""

    engine: sa.Engine
    eager: RecordingEagerPath = attrs.field(factory=RecordingEagerPath)
    outbox: SqlAlchemyOutbox = attrs.field(init=False)
    sessions: sessionmaker[Session] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.outbox = self.new_outbox()
        self.sessions = sessionmaker(self.engine)
        self.outbox.attach(self.sessions)

    def new_outbox(self) -> SqlAlchemyOutbox:
        serializer = OrjsonEventSerializer(EventTypeRegistry())
        return SqlAlchemyOutbox(
            store=SqlAlchemyOutboxStore(self.engine, outbox_message),
            encoding=EventEncoding(serializer=serializer),
            eager=self.eager,
        )

    def place(self, *order_ids: str) -> None:
        """Commit new orders, and forget what the eager path was told of them."""
        with self.sessions.begin() as session:
            session.add_all(Order.place(order_id) for order_id in order_ids)
        self.eager.forget()

    def attached(self, sessions: sessionmaker[Session]) -> sessionmaker[Session]:
        """Attach an outbox to other sessions."""
        self.new_outbox().attach(sessions)
        return sessions

    def places(self) -> list[tuple[str, str, int | None, int]]:
        """Return type, aggregate, version and index of each row, in the order of ids."""
        row = outbox_message.c
        columns = row.event_type, row.aggregate_id, row.aggregate_version, row.event_index
        with self.engine.connect() as connection:
            found = connection.execute(sa.select(*columns).order_by(row.id))
            return [(name.removeprefix("test."), *rest) for name, *rest in found]

    def rows(self) -> list[str]:
        """Return the event types in the outbox, in the order of ids."""
        return [name for name, *_ in self.places()]

    def owners(self) -> list[bool]:
        """Say for each row whether it was born owned."""
        with self.engine.connect() as connection:
            column = outbox_message.c.claim_token
            found = connection.scalars(sa.select(column).order_by(outbox_message.c.id))
            return [token is not None for token in found]

    def orders(self) -> dict[str, tuple[bool, int]]:
        """Return which orders are paid, and their versions."""
        with self.engine.connect() as connection:
            order = order_table.c
            found = connection.execute(sa.select(order.id, order.paid, order.version))
            return {id_: (paid, version) for id_, paid, version in found}


@contextlib.contextmanager
def sqlite_shop(folder: Path) -> Iterator[Shop]:
    with _shop(create_sqlite_engine(folder / "shop.db", busy_timeout=dt.timedelta(seconds=2))) as s:
        yield s


@contextlib.contextmanager
def shop_on(service: str) -> Iterator[Shop]:
    urls = {"postgresql": servers.postgresql_url, "mariadb": servers.mariadb_url}
    with _shop(sa.create_engine(urls[service]())) as shop:
        yield shop


@contextlib.contextmanager
def shop_at(url: str, *, isolation_level: str) -> Iterator[Shop]:
    with _shop(sa.create_engine(url, isolation_level=isolation_level)) as shop:
        yield shop


@contextlib.contextmanager
def _shop(engine: sa.Engine) -> Iterator[Shop]:
    metadata.create_all(engine)
    try:
        yield Shop(engine)
    finally:
        metadata.drop_all(engine)
        engine.dispose()
