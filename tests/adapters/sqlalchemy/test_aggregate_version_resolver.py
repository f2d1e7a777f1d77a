from collections.abc import Callable

import pytest
import sqlalchemy as sa

from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd.ports import IAggregateVersionResolver
from pragmatic_ddd_sqlalchemy import SqlAlchemyAggregateVersionResolver
from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import Note, Order
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["any_shop", "shop"]


def test_it_tells_what_is_committed_while_others_write(any_shop: Shop) -> None:
    any_shop.place("o1")
    versions: IAggregateVersionResolver = SqlAlchemyAggregateVersionResolver(
        Order, any_shop.sessions
    )
    with any_shop.sessions() as session:
        session.get_one(Order, "o1").pay()
        session.flush()

        assert versions.current_version("o1") == 1
        session.commit()
    assert versions.current_version("o1") == 2
    assert versions.current_version("o2") is None
    assert any_shop.engine.pool.checkedout() == 0  # type: ignore[attr-defined]  # a QueuePool


def test_a_database_that_is_gone_is_an_outbox_store_error(shop: Shop) -> None:
    def refuse(*_: object) -> None:
        raise sa.exc.OperationalError("BEGIN", None, ConnectionRefusedError())

    versions = SqlAlchemyAggregateVersionResolver(Order, shop.sessions)
    sa.event.listen(shop.engine, "begin", refuse)
    with pytest.raises(OutboxStoreError):
        versions.current_version("o1")
    sa.event.remove(shop.engine, "begin", refuse)


def test_a_wrong_part_is_named(shop: Shop) -> None:
    make: Callable[..., object] = SqlAlchemyAggregateVersionResolver
    with pytest.raises(TypeError, match=r"^aggregate_type: <class Note> is mapped without a"):
        make(Note, shop.sessions)
    with pytest.raises(TypeError, match=r"^sessions = None: give a sessionmaker$"):
        make(Order, None)
