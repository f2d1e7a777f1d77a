"""After the commit: no SQL, no surprises for the caller, and nothing is lost."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import sessionmaker

from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd.ports import Reservation, StoredMessage
from pragmatic_ddd_sqlalchemy.engine import create_memory_engine, create_sqlite_engine
from pragmatic_ddd_sqlalchemy.outbox import SqlAlchemyOutbox
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import Order
from tests.adapters.sqlalchemy.shop import RecordingEagerPath, Shop

__all__ = ["any_shop", "shop"]


@attrs.define
class BrokenEagerPath(RecordingEagerPath):
    """Fails at everything, though it promises not to."""

    def reserve(self, count: int) -> Reservation | None:
        super().reserve(count)
        raise RuntimeError("cannot reserve")

    def announce(self, stored: Sequence[StoredMessage], reservation: Reservation | None) -> None:
        super().announce(stored, reservation)
        raise RuntimeError("cannot announce")


def attached_with(shop: Shop, eager: RecordingEagerPath) -> "sessionmaker[sa.orm.Session]":
    outbox = shop.new_outbox()
    outbox.eager = eager
    sessions = sessionmaker(shop.engine, expire_on_commit=False)
    outbox.attach(sessions)
    return sessions


def test_errors_of_the_eager_path_never_reach_the_caller(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    eager = BrokenEagerPath()
    with attached_with(shop, eager)() as session:
        session.add(Order.place("o1"))
        session.add(Order.place("o2"))
        session.commit()
        assert session.scalars(sa.select(Order)).all()

    assert shop.rows() == ["order.placed", "order.placed"]
    assert shop.owners() == [False, False]
    assert eager.announced_types == ["test.order.placed", "test.order.placed"]
    assert [record.message for record in caplog.records] == [
        "eager path failed: 2 events left to the relay",
        "eager path failed: 2 events left to the relay",
    ]


def test_when_it_is_announced_the_commit_is_visible_and_the_connection_given_back(
    any_shop: Shop,
) -> None:
    seen: list[tuple[list[str], int]] = []

    class Looking(RecordingEagerPath):
        def announce(
            self, stored: Sequence[StoredMessage], reservation: Reservation | None
        ) -> None:
            in_use = any_shop.engine.pool.checkedout()  # type: ignore[attr-defined]  # a QueuePool
            seen.append((any_shop.rows(), in_use))

    with attached_with(any_shop, Looking()).begin() as session:
        session.add(Order.place("o1"))

    assert seen == [(["order.placed"], 0)]


def test_nothing_is_read_or_written_after_the_commit(shop: Shop) -> None:
    shop.place("o1")
    statements: list[str] = []

    def note(connection: sa.Connection, *args: object) -> None:
        statements.append(str(args[1]))

    def note_commit(connection: sa.Connection) -> None:
        statements.append("COMMIT")

    with shop.sessions() as session:
        session.get_one(Order, "o1").pay()
        sa.event.listen(shop.engine, "before_cursor_execute", note)
        sa.event.listen(shop.engine, "commit", note_commit)
        session.commit()
        sa.event.remove(shop.engine, "before_cursor_execute", note)
        sa.event.remove(shop.engine, "commit", note_commit)

    assert statements[-1] == "COMMIT"
    assert statements.count("COMMIT") == 1
    assert sum(statement.startswith("UPDATE") for statement in statements) == 1


def test_an_event_raised_by_a_handler_goes_to_the_next_transaction(shop: Shop) -> None:
    class Handling(RecordingEagerPath):
        def announce(
            self, stored: Sequence[StoredMessage], reservation: Reservation | None
        ) -> None:
            super().announce(stored, reservation)
            if len(self.announced) == 1:
                order.say_paid()

    order = Order.place("o1")
    eager = Handling()
    sessions = attached_with(shop, eager)
    with sessions() as session:
        with session.begin():
            session.add(order)
        assert shop.rows() == ["order.placed"]
        session.commit()

    assert shop.places() == [("order.placed", "o1", 1, 0), ("order.paid", "o1", 2, 0)]
    assert eager.announced_types == ["test.order.placed", "test.order.paid"]


def test_an_event_raised_by_an_after_commit_listener_goes_to_the_next_transaction(
    shop: Shop,
) -> None:
    order = Order.place("o1")
    sessions = shop.attached(sessionmaker(shop.engine, expire_on_commit=False))
    sa.event.listen(sessions, "after_commit", lambda _: order.say_paid(), once=True)
    with sessions() as session:
        session.add(order)
        session.commit()
        assert shop.rows() == ["order.placed"]
        session.commit()

    assert shop.places() == [("order.placed", "o1", 1, 0), ("order.paid", "o1", 2, 0)]


def test_what_a_handler_raised_is_gone_with_the_session_that_is_closed(shop: Shop) -> None:
    order = Order.place("o1")
    sessions = shop.attached(sessionmaker(shop.engine, expire_on_commit=False))
    sa.event.listen(sessions, "after_commit", lambda _: order.say_paid(), once=True)
    with sessions() as session:
        session.add(order)
        session.commit()
        session.close()
        session.commit()

    assert shop.rows() == ["order.placed"]
    assert len(order.triggered_events) == 1


def test_a_listener_that_fails_after_the_commit_does_not_undo_it(shop: Shop) -> None:
    order = Order.place("o1")
    sessions = shop.attached(sessionmaker(shop.engine))

    def fail(_: object) -> None:
        raise LookupError

    sa.event.listen(sessions, "after_commit", fail, insert=False)
    with sessions() as session:
        session.add(order)
        with pytest.raises(LookupError):
            session.commit()

    assert len(order.triggered_events) == 0
    assert shop.rows() == ["order.placed"]
    assert shop.eager.announced_types == ["test.order.placed"]


def test_a_handler_may_use_a_session_of_its_own(shop: Shop) -> None:
    class Handling(RecordingEagerPath):
        def announce(
            self, stored: Sequence[StoredMessage], reservation: Reservation | None
        ) -> None:
            super().announce(stored, reservation)
            if len(self.announced) == 1:
                with sessions.begin() as session:
                    session.get_one(Order, "o1").pay()

    sessions = attached_with(shop, Handling())
    with sessions.begin() as session:
        session.add(Order.place("o1"))

    assert shop.rows() == ["order.placed", "order.paid"]


def test_a_process_that_dies_right_after_the_commit_has_stored_its_event(
    shop: Shop, tmp_path: Path
) -> None:
    story = f"""
import os, sqlalchemy as sa
from tests.adapters.sqlalchemy import models
from pragmatic_ddd_sqlalchemy.engine import create_sqlite_engine
from tests.adapters.sqlalchemy.shop import Shop
shop = Shop(create_sqlite_engine({str(tmp_path / "mortal.db")!r}))
models.metadata.create_all(shop.engine)
sa.event.listen(shop.sessions, "after_commit", lambda _: os.kill(os.getpid(), 9), insert=True)
print(models.outbox_message.name, models.order_table.name, flush=True)
with shop.sessions.begin() as session:
    session.add(models.Order.place("o1"))
"""
    died = subprocess.run(
        [sys.executable, "-c", story],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert died.returncode == -signal.SIGKILL, died.stderr

    outbox, orders = died.stdout.split()
    engine = create_sqlite_engine(tmp_path / "mortal.db")
    with engine.connect() as connection:
        for table in (outbox, orders):
            assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == 1
    engine.dispose()


def test_a_database_in_memory_gets_no_eager_path(shop: Shop) -> None:
    store = SqlAlchemyOutboxStore(create_memory_engine())
    encoding = shop.outbox.encoding

    SqlAlchemyOutbox(store=store, encoding=encoding)
    with pytest.raises(ConfigurationError, match="in memory"):
        SqlAlchemyOutbox(store=store, encoding=encoding, eager=RecordingEagerPath())
