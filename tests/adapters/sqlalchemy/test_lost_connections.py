"""Connections in the pool that a restarted server, or an administrator, has ended meanwhile."""

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.pool import QueuePool

from pragmatic_ddd.errors import OutboxStoreError
from tests.databases import mariadb_engine, outbox_database, postgresql_engine

_PIDS = {"postgresql": "SELECT pg_backend_pid()", "mariadb": "SELECT connection_id()"}
_ENDS = {"postgresql": "SELECT pg_terminate_backend({})", "mariadb": "KILL {}"}


def end_pooled(engine: sa.Engine, service: str, count: int) -> None:
    """Fill the pool with connections that the server then ends."""
    connections = [engine.connect() for _ in range(count)]
    try:
        pids = [one.exec_driver_sql(_PIDS[service]).scalar_one() for one in connections]
    finally:
        for one in connections:
            one.close()
    administrator = sa.create_engine(engine.url, poolclass=sa.NullPool)
    with administrator.connect() as connection:
        for pid in pids:
            connection.exec_driver_sql(_ENDS[service].format(pid))


@pytest.mark.parametrize(
    "service",
    [pytest.param(name, marks=pytest.mark.service(name)) for name in ("postgresql", "mariadb")],
)
def test_the_first_that_is_met_has_all_of_them_replaced(service: str) -> None:
    engine = postgresql_engine() if service == "postgresql" else mariadb_engine()
    with outbox_database(engine) as database:
        store = database.store()
        end_pooled(engine, service, 5)

        with pytest.raises(OutboxStoreError) as raised:
            store.tidy()

        assert raised.value.retryable
        assert store.tidy() == 0
        assert store.backlog().pending == 0


@pytest.mark.service("mariadb")
@pytest.mark.parametrize("isolation_level", ["REPEATABLE READ", "READ COMMITTED"])
def test_one_that_is_lost_right_after_a_commit_leaves_its_place_in_the_pool(
    isolation_level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"pool_reset_on_return": None, "isolation_level": isolation_level}
    engine = sa.create_engine(mariadb_engine().url, **options)
    administrator = sa.create_engine(engine.url, poolclass=sa.NullPool)
    commit = engine.dialect.do_commit

    def commit_and_lose(connection: Any) -> None:  # noqa: ANN401  # a driver's, of any kind
        commit(connection)
        with administrator.connect() as killer:
            killer.exec_driver_sql(f"KILL {connection.thread_id()}")

    with outbox_database(engine) as database:
        store = database.store()
        monkeypatch.setattr(engine.dialect, "do_commit", commit_and_lose)
        store.backlog()
        monkeypatch.undo()

        assert isinstance(engine.pool, QueuePool)
        assert engine.pool.checkedout() == 0
        engine.dispose()  # of the lost one


@pytest.mark.service("mariadb")
def test_the_application_s_level_is_left_as_it_was() -> None:
    engine = sa.create_engine(
        mariadb_engine().url, isolation_level="SERIALIZABLE", pool_size=1, max_overflow=0
    )
    with outbox_database(engine) as database:
        store = database.store()
        store.tidy()
        store.backlog()
        with engine.connect() as connection:
            own_level = connection.exec_driver_sql("SELECT @@tx_isolation").scalar_one()

        assert own_level == "SERIALIZABLE"
