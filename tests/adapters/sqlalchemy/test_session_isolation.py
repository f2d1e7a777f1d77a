"""An application's isolation level is its own: at each of them, nothing is overtaken."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from pragmatic_ddd.ports import Delivered
from tests import servers
from tests.adapters.sqlalchemy.models import Counter, Happened
from tests.adapters.sqlalchemy.shop import Shop, shop_at


@pytest.fixture(params=["READ COMMITTED", "REPEATABLE READ"])
def postgresql_shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    with shop_at(servers.postgresql_url(), isolation_level=request.param) as shop:
        yield shop


@pytest.fixture(params=["READ COMMITTED", "REPEATABLE READ"])
def mariadb_shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    with shop_at(servers.mariadb_url(), isolation_level=request.param) as shop:
        yield shop


def a_counter(what: str) -> Counter:
    counter = Counter(id="c1")
    counter.collect_event(Happened(aggregate_id="c1", what=what))
    return counter


def _is_deleted_and_inserted_again(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        session.add(a_counter("new"))
    store = shop.outbox.store
    ((stored, _),) = shop.eager.announced
    claimed = [one.claim for one in stored if one.claim is not None]
    claimed += store.claim([one.id for one in stored], lease=store.horizon)
    store.mark_sent([Delivered(claimed=one, receipt="") for one in claimed])

    with shop.sessions() as inserting:
        inserting.execute(sa.select(sa.func.count()).select_from(store.table)).all()  # a snapshot
        with shop.sessions.begin() as deleting:
            counter = deleting.get_one(Counter, "c1")
            counter.collect_event(Happened(aggregate_id="c1", what="deleted"))
            deleting.delete(counter)
        inserting.add(a_counter("new again"))
        inserting.commit()


@pytest.mark.service("postgresql")
def test_on_postgresql_a_new_aggregate_does_not_overtake_the_deletion_of_its_predecessor(
    postgresql_shop: Shop,
) -> None:
    _is_deleted_and_inserted_again(postgresql_shop)

    assert len(postgresql_shop.owners()) == 3
    assert not postgresql_shop.owners()[-1]


@pytest.mark.service("mariadb")
def test_on_mariadb_a_new_aggregate_does_not_overtake_the_deletion_of_its_predecessor(
    mariadb_shop: Shop,
) -> None:
    _is_deleted_and_inserted_again(mariadb_shop)

    assert len(mariadb_shop.owners()) == 3
    assert not mariadb_shop.owners()[-1]
