"""Connections in the pool that a restarted server, or an administrator, has ended meanwhile."""

import pytest
import sqlalchemy as sa

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
