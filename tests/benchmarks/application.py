"""The composition root of an application that changes orders, with or without the outbox."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

import attrs
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.application.outbox.eager import EagerOutboxPublisher
from pragmatic_ddd.application.outbox.encoding import EventEncoding
from pragmatic_ddd.ports import IStoredEventPublisher, Reservation
from pragmatic_ddd.ports.outbox_message import StoredMessage
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_sqlalchemy import (
    SqlAlchemyOutbox,
    SqlAlchemyOutboxStore,
    SqlAlchemyUnitsOfWork,
)
from pragmatic_ddd_sqlalchemy.eager_path import IEagerPath
from tests.benchmarks.databases import BenchDatabase
from tests.benchmarks.orders import OrderChanged, map_orders


@attrs.frozen
class ReservationOnly(IEagerPath):
    """Reserves as the eager publisher does, and pushes nothing: its threads take no time.

    Attributes:
        eager: Whose room is reserved; its threads never start.
    """

    eager: EagerOutboxPublisher

    def reserve(self, count: int) -> Reservation | None:
        return self.eager.reserve(count)

    def announce(self, stored: Sequence[StoredMessage], reservation: Reservation | None) -> None:
        if reservation is not None:
            self.eager.cancel(reservation)

    def cancel(self, reservation: Reservation) -> None:
        self.eager.cancel(reservation)


@attrs.frozen(kw_only=True)
class Application:
    """Works on a database whose orders are mapped as long as it is open."""

    database: BenchDatabase
    store: SqlAlchemyOutboxStore
    encoding: EventEncoding

    @classmethod
    @contextmanager
    def on(cls, database: BenchDatabase) -> Iterator[Self]:
        mapping = map_orders(database.orders)
        serializer = OrjsonEventSerializer(EventTypeRegistry(OrderChanged))
        encoding = EventEncoding(serializer=serializer)
        try:
            yield cls(database=database, store=database.store(), encoding=encoding)
        finally:
            mapping.dispose()

    def sessions(self) -> sessionmaker[Session]:
        """Return plain ones, without an outbox."""
        return sessionmaker(self.database.engine)

    def units_of_work(self, eager: IEagerPath | None) -> SqlAlchemyUnitsOfWork:
        sessions = self.sessions()
        self.outbox(eager).attach(sessions)
        return SqlAlchemyUnitsOfWork(sessions)

    def outbox(self, eager: IEagerPath | None) -> SqlAlchemyOutbox:
        return SqlAlchemyOutbox(store=self.store, encoding=self.encoding, eager=eager)

    def eager(self, publisher: IStoredEventPublisher) -> EagerOutboxPublisher:
        return EagerOutboxPublisher(store=self.store, publisher=publisher)

    def open_orders(self, ids: Iterable[str]) -> None:
        """Store orders without any event."""
        rows = [{"id": one, "version": 1, "steps": 0} for one in ids]
        with self.database.engine.begin() as connection:
            connection.execute(self.database.orders.insert(), rows)
