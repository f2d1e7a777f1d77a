"""Few connections are enough, killed ones are replaced, a server that is away is left alone."""

import datetime as dt
import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from pragmatic_ddd.application.outbox import (
    EagerOutboxPublisher,
    EagerPoolConfig,
    OutboxRelay,
    OutboxRelayConfig,
)
from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd.ports import OutboxMessage, OutboxStatus, Receipt
from pragmatic_ddd.testing.faults import ScriptedPublisher, confirms
from pragmatic_ddd.testing.messages import a_message
from pragmatic_ddd_local import CountingMetrics
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from tests import servers
from tests.databases import OutboxDatabase, mariadb_engine, outbox_database, postgresql_engine
from tests.unit.application.outbox.builders import eventually, push, seconds


@pytest.mark.service("postgresql")
def test_publishing_takes_no_connection_from_requests_while_it_waits_for_the_broker() -> None:
    small = sa.create_engine(servers.postgresql_url(), pool_size=2, max_overflow=0, pool_timeout=10)
    pool = small.pool
    assert isinstance(pool, sa.QueuePool)
    all_send = threading.Barrier(5)
    in_use: list[int] = []
    is_first_time: dict[int, bool] = {}

    def step(_: OutboxMessage, confirm: object) -> Receipt:
        """Four workers and the test meet: nothing else happens then."""
        assert callable(confirm)
        if is_first_time.setdefault(threading.get_ident(), True):
            is_first_time[threading.get_ident()] = False
            all_send.wait(20)
            all_send.wait(20)
        receipt: Receipt = confirm()
        return receipt

    with outbox_database(small) as database:
        publisher = ScriptedPublisher(longest_call=seconds(3))
        store = database.store()

        def request(number: int) -> None:
            with small.connect() as connection:
                connection.exec_driver_sql("SELECT pg_sleep(0.01)")
            push(eager, a_message(of=str(number)))

        with (
            publisher.always(step),
            EagerOutboxPublisher(
                store=store, publisher=publisher, pool=EagerPoolConfig(workers=4)
            ) as eager,
            ThreadPoolExecutor(20) as requests,
        ):
            results = list(requests.map(request, range(50)))
            all_send.wait(20)
            in_use.append(pool.checkedout())
            all_send.wait(20)
            assert eager.wait_until_idle(seconds(30))

        assert len(results) == 50, "no request has waited for a connection in vain"
        assert in_use == [0]
        assert pool.checkedout() == 0
        assert len(publisher.delivered) == 50


def _kill_connections(database: OutboxDatabase) -> None:
    """End every connection in the pool of an engine from the server's side, as a failover does."""
    ask, kill = {
        "postgresql": ("SELECT pg_backend_pid()", "SELECT pg_terminate_backend({})"),
        "mysql": ("SELECT connection_id()", "KILL {}"),
    }[database.engine.dialect.name]
    connections = [database.engine.connect() for _ in range(4)]
    ids = [one.exec_driver_sql(ask).scalar_one() for one in connections]
    for one in connections:
        one.close()
    other = sa.create_engine(database.engine.url)
    with other.connect() as connection:
        for one in ids:
            connection.exec_driver_sql(kill.format(one))
    other.dispose()


@pytest.mark.parametrize(
    "service",
    [
        pytest.param("postgresql", marks=pytest.mark.service("postgresql")),
        pytest.param("mariadb", marks=pytest.mark.service("mariadb")),
    ],
)
def test_a_connection_killed_between_claim_and_mark_costs_no_message_and_no_duplicate(
    service: str,
) -> None:
    make_engine = {"postgresql": postgresql_engine, "mariadb": mariadb_engine}[service]
    with outbox_database(make_engine()) as database:
        store = database.store()
        outsider = SqlAlchemyOutboxStore(make_engine(), database.table)
        store.store([a_message("m1"), a_message("m2", of="2")])
        publisher = ScriptedPublisher(longest_call=seconds(1))

        def step(message: OutboxMessage, confirm: object) -> Receipt:
            if message.message_id == "m2":
                _kill_connections(database)
            assert callable(confirm)
            return confirms(message, confirm)

        relay = OutboxRelay(
            store=store,
            publisher=publisher,
            config=OutboxRelayConfig(poll_interval=dt.timedelta(minutes=5)),
        )
        with publisher.always(step), relay:
            eventually(
                lambda: outsider.backlog().pending + outsider.backlog().processing == 0,
                within=seconds(20),
            )

        assert sorted(publisher.delivered_ids()) == ["m1", "m2"]
        entry = outsider.find("m2")
        outsider.engine.dispose()
        assert entry is not None
        assert (entry.status, entry.attempts) == (OutboxStatus.SENT, 0)


def test_a_database_that_is_away_is_asked_less_and_less_often(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = sa.create_engine("postgresql+psycopg://nobody@127.0.0.1:1/none?connect_timeout=1")
    store = SqlAlchemyOutboxStore(engine)
    metrics = CountingMetrics()
    relay = OutboxRelay(
        store=store, publisher=ScriptedPublisher(longest_call=seconds(1)), metrics=metrics
    )
    pauses: list[float] = []

    def note(pause: dt.timedelta, *, may_be_woken: bool) -> None:
        assert not may_be_woken, "not even a commit makes it ask sooner"
        pauses.append(pause.total_seconds())
        if len(pauses) == 12:
            relay.stop()

    monkeypatch.setattr(OutboxRelay, "_sleep", lambda _, *args, **kw: note(*args, **kw))
    begun = time.monotonic()

    relay.run()

    with pytest.raises(OutboxStoreError):
        store.backlog()
    assert time.monotonic() - begun < 60
    assert max(pauses) <= 30
    assert sum(pauses[:3]) < 8 < min(pauses[-3:]), "from about a second to half a minute"
    assert metrics.count("relay_failed") == 12
    assert len([one for one in caplog.records if one.levelno >= logging.WARNING]) == 1
