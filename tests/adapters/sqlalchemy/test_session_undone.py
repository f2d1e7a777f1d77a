"""What the database has rolled back by itself leaves no event behind, however it is handled."""

import contextlib
import threading
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

from pragmatic_ddd.errors import OutboxStoreError
from tests.adapters.sqlalchemy.databases import shop
from tests.adapters.sqlalchemy.models import Order, line_table, order_table
from tests.adapters.sqlalchemy.shop import Shop, shop_on

__all__ = ["shop"]

_WITHIN_SECONDS = 20.0

on_mariadb = pytest.mark.service("mariadb")


@pytest.fixture
def mariadb_shop() -> Iterator[Shop]:
    with shop_on("mariadb") as shop:
        shop.place("o1", "o2", "o3")
        yield shop


@contextlib.contextmanager
def _deadlock(shop: Shop) -> Iterator[Callable[[], None]]:
    """Lock o2 in a transaction that has much to undo; at a call it goes for o1, and waits."""
    connection = shop.engine.connect()
    transaction = connection.begin()
    # InnoDB rolls back the transaction that has changed the fewest rows: not this one.
    connection.execute(
        sa.insert(line_table),
        [{"id": f"l{n}", "order_id": "o2", "quantity": n} for n in range(100)],
    )
    connection.execute(sa.update(order_table).where(order_table.c.id == "o2").values(updates=1))

    def lock_the_other() -> None:
        connection.execute(sa.update(order_table).where(order_table.c.id == "o1").values(updates=1))

    thread = threading.Thread(target=lock_the_other)
    try:
        yield thread.start
    finally:
        thread.join(_WITHIN_SECONDS)
        transaction.rollback()
        connection.close()


def _lock_o2(session: Session) -> None:
    session.execute(sa.select(order_table).where(order_table.c.id == "o2").with_for_update())


def _commit_is_refused(session: Session) -> None:
    session.get_one(Order, "o3").pay()
    with pytest.raises(OutboxStoreError, match="rolled back all of this transaction"):
        session.commit()


def _it_can_be_repeated(shop: Shop, session: Session) -> None:
    session.rollback()
    assert shop.rows() == ["order.placed"] * 3
    assert shop.orders() == dict.fromkeys(("o1", "o2", "o3"), (False, 1))

    session.get_one(Order, "o1").pay()
    session.commit()
    assert shop.rows() == ["order.placed"] * 3 + ["order.paid"]


@on_mariadb
def test_a_deadlock_in_a_savepoint_undoes_the_whole_transaction(mariadb_shop: Shop) -> None:
    with mariadb_shop.sessions() as session:
        with _deadlock(mariadb_shop) as begin:
            session.get_one(Order, "o1").pay()
            session.flush()
            # The savepoint is gone as well, so that its rollback fails.
            begin()
            with pytest.raises(OperationalError), session.begin_nested():
                _lock_o2(session)
            _commit_is_refused(session)
        _it_can_be_repeated(mariadb_shop, session)


@on_mariadb
def test_a_deadlock_that_is_swallowed_undoes_the_whole_transaction(mariadb_shop: Shop) -> None:
    with mariadb_shop.sessions() as session:
        with _deadlock(mariadb_shop) as begin:
            session.get_one(Order, "o1").pay()
            session.flush()
            begin()
            with pytest.raises(OperationalError):
                _lock_o2(session)
            _commit_is_refused(session)
        _it_can_be_repeated(mariadb_shop, session)


@on_mariadb
def test_a_lock_timeout_undoes_one_statement_only(mariadb_shop: Shop) -> None:
    with mariadb_shop.sessions() as other, mariadb_shop.sessions() as session:
        _lock_o2(other)
        session.get_one(Order, "o1").pay()
        session.flush()
        with pytest.raises(OperationalError):
            session.execute(
                sa.select(order_table).where(order_table.c.id == "o2").with_for_update(nowait=True)
            )
        session.commit()

    assert mariadb_shop.rows() == ["order.placed"] * 3 + ["order.paid"]
    assert mariadb_shop.orders()["o1"] == (True, 2)


def test_what_sqlite_has_rolled_back_leaves_no_event(shop: Shop) -> None:
    shop.place("o1")
    with shop.sessions() as session:
        session.get_one(Order, "o1").pay()
        session.flush()
        with pytest.raises(IntegrityError):
            session.execute(
                sa.insert(order_table)
                .prefix_with("OR ROLLBACK")
                .values(id="o1", paid=True, version=1)
            )
        with pytest.raises(OutboxStoreError, match="rolled back all of this transaction"):
            session.commit()

    assert shop.rows() == ["order.placed"]
    assert shop.orders() == {"o1": (False, 1)}
