"""The INSERT of the events and the COMMIT in one round trip, on PostgreSQL with psycopg."""

import contextlib
import enum
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session

from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd_sqlalchemy.dialects.postgresql.prepared_commit import PreparedCommit
from tests.adapters.sqlalchemy.models import Order, OrderPaid, order_table, outbox_message
from tests.adapters.sqlalchemy.shop import Shop, shop_on
from tests.adapters.sqlalchemy.statements import statements_of

pytestmark = pytest.mark.service("postgresql")


@pytest.fixture(params=[False, True], ids=["by cursors", "prepared"])
def shop(request: pytest.FixtureRequest) -> Iterator[Shop]:
    """A shop whose connection has, or has not, prepared the INSERT by now."""
    with shop_on("postgresql") as shop:
        threshold = 0 if request.param else None

        def prepare_at_once(connection: psycopg.Connection[object], _: object) -> None:
            connection.prepare_threshold = threshold

        sa.event.listen(shop.engine, "connect", prepare_at_once)
        shop.engine.dispose()
        shop.place("o1")
        yield shop


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The verbs of the statements that go to the server, one text for each round trip."""
    round_trips: list[str] = []
    pipelined: list[str] | None = None
    execute, commit = psycopg.Cursor.execute, psycopg.Connection.commit
    execute_prepared = PreparedCommit.execute
    pipeline = psycopg.Connection.pipeline

    def noting_execute(
        cursor: psycopg.Cursor[object], query: object, *arguments: object, **options: object
    ) -> object:
        verb = str(query).split(maxsplit=1)[0]
        (round_trips if pipelined is None else pipelined).append(verb)
        return execute(cursor, query, *arguments, **options)  # type: ignore[call-overload]

    @contextlib.contextmanager
    def noting_pipeline(connection: psycopg.Connection[object]) -> Iterator[None]:
        nonlocal pipelined
        pipelined = []
        with pipeline(connection):
            yield
        round_trips.append(" ".join(pipelined))
        pipelined = None

    def noting_commit(connection: psycopg.Connection[object]) -> None:
        if connection.info.transaction_status is not psycopg.pq.TransactionStatus.IDLE:
            round_trips.append("COMMIT")
        commit(connection)

    def noting_prepared(
        prepared: PreparedCommit,
        connection: sa.Connection,
        name: bytes,
        values: Sequence[bytes | None],
    ) -> object:
        round_trips.append(" ".join([prepared.text.split(maxsplit=1)[0], "COMMIT"]))
        return execute_prepared(prepared, connection, name, values)

    monkeypatch.setattr(PreparedCommit, "execute", noting_prepared)
    monkeypatch.setattr(psycopg.Cursor, "execute", noting_execute)
    monkeypatch.setattr(psycopg.Connection, "pipeline", noting_pipeline)
    monkeypatch.setattr(psycopg.Connection, "commit", noting_commit)
    return round_trips


@pytest.mark.parametrize("orders", [["o1"], ["o1", "o2", "o3"]])
def test_events_cost_no_round_trip_of_their_own(
    shop: Shop, sent: list[str], orders: list[str]
) -> None:
    shop.place(*orders[1:])
    sent.clear()
    with shop.sessions.begin() as session:
        for order_id in orders:
            session.get_one(Order, order_id).pay()

    assert sent[-2:] == ["UPDATE", "INSERT COMMIT"]
    assert shop.rows().count("order.paid") == len(orders)
    assert len(shop.eager.announced_types) == len(orders)


def test_who_listens_to_the_engine_sees_the_insert(shop: Shop, sent: list[str]) -> None:
    with statements_of(shop.engine) as statements, shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()

    assert sent[-3:] == ["UPDATE", "INSERT", "COMMIT"]
    assert "INSERT" in statements[-1]


def test_an_engine_that_logs_logs_the_insert(
    shop: Shop, sent: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    shop.engine.echo = True
    with shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()
    shop.engine.echo = False

    assert sent[-1] == "COMMIT"
    assert any("INSERT" in record.getMessage() for record in caplog.records)


def test_what_a_later_listener_does_is_in_the_same_transaction(shop: Shop, sent: list[str]) -> None:
    def note(session: Session) -> None:
        session.execute(sa.text("SELECT 1"))

    sa.event.listen(shop.sessions, "before_commit", note)
    with shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()

    assert sent[-3:] == ["UPDATE", "SELECT", "INSERT COMMIT"]


def test_a_later_listener_that_fails_leaves_nothing(shop: Shop) -> None:
    def refuse(_: Session) -> None:
        raise LookupError

    sa.event.listen(shop.sessions, "before_commit", refuse)
    with pytest.raises(LookupError), shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()
    sa.event.remove(shop.sessions, "before_commit", refuse)

    with shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()
    assert shop.rows() == ["order.placed", "order.paid"]


def test_refused_rows_leave_nothing_and_a_connection_that_goes_on(shop: Shop) -> None:
    with shop.engine.connect() as connection:
        message_id = connection.scalars(sa.select(outbox_message.c.message_id)).one()
    with shop.sessions() as session:
        order = session.get_one(Order, "o1")
        order.pay()
        order.collect_event(OrderPaid(aggregate_id="o1", event_id=message_id))
        with pytest.raises(OutboxStoreError, match="UniqueViolation"):
            session.commit()

    assert shop.rows() == ["order.placed"]
    assert shop.orders() == {"o1": (False, 1)}
    assert shop.eager.cancelled == shop.eager.reserved[-1:]


def test_a_commit_that_the_server_refuses_leaves_nothing(shop: Shop) -> None:
    with shop.engine.begin() as connection:
        connection.execute(
            sa.text(
                f"ALTER TABLE {order_table} ADD COLUMN twin text, "
                f"ADD CONSTRAINT twin UNIQUE (twin) DEFERRABLE INITIALLY DEFERRED"
            )
        )
        connection.execute(
            sa.text(
                f"INSERT INTO {order_table} (id, paid, version, twin) VALUES ('o2', false, 1, 'x')"
            )
        )
    with shop.sessions() as session:
        session.get_one(Order, "o1").pay()
        session.execute(sa.text(f"UPDATE {order_table} SET twin = 'x' WHERE id = 'o1'"))
        with pytest.raises(IntegrityError, match="twin"):
            session.commit()

    assert shop.rows() == ["order.placed"]
    assert shop.eager.cancelled == shop.eager.reserved[-1:]


def test_a_connection_that_is_lost_before_the_commit_is_replaced(shop: Shop) -> None:
    with shop.sessions() as session:
        session.get_one(Order, "o1").pay()
        session.flush()
        backend = session.scalar(sa.text("SELECT pg_backend_pid()"))
        with shop.engine.connect() as other:
            other.execute(sa.text(f"SELECT pg_terminate_backend({backend}, 5000)"))
        with pytest.raises(DBAPIError) as raised:
            session.commit()

    assert raised.value.connection_invalidated
    assert shop.rows() == ["order.placed"]
    assert shop.eager.cancelled == shop.eager.reserved[-1:]
    with shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()
    assert shop.rows() == ["order.placed", "order.paid"]


def test_a_session_on_two_connections_sends_them_one_by_one(shop: Shop, sent: list[str]) -> None:
    other = sa.create_engine(shop.engine.url)
    with shop.sessions() as session:
        session.get_one(Order, "o1").pay()
        session.connection(bind_arguments={"bind": other}).execute(sa.text("SELECT 1"))
        session.commit()
    other.dispose()

    assert sent[-3:] == ["INSERT", "COMMIT", "COMMIT"]
    assert shop.rows() == ["order.placed", "order.paid"]


def test_a_session_joined_to_a_connection_waits_for_no_commit(shop: Shop, sent: list[str]) -> None:
    with shop.engine.begin() as connection, shop.sessions(bind=connection) as session:
        session.get_one(Order, "o1").pay()
        session.commit()
        assert sent[-1] == "INSERT"

    assert shop.rows() == ["order.placed", "order.paid"]


def test_savepoints_are_released_before(shop: Shop, sent: list[str]) -> None:
    with shop.sessions() as session:
        session.begin_nested()
        session.get_one(Order, "o1").pay()
        session.commit()

    assert sent[-2:] == ["RELEASE", "INSERT COMMIT"]
    assert shop.rows() == ["order.placed", "order.paid"]


def is_prepared(shop: Shop) -> bool:
    with shop.engine.connect() as connection:
        threshold: object = connection.connection.driver_connection.prepare_threshold  # type: ignore[union-attr]
    return threshold == 0


def test_what_is_prepared_goes_without_cursors(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bytes] = []
    execute = PreparedCommit.execute

    def noting(
        prepared: PreparedCommit,
        connection: sa.Connection,
        name: bytes,
        values: Sequence[bytes | None],
    ) -> object:
        calls.append(name)
        return execute(prepared, connection, name, values)

    monkeypatch.setattr(PreparedCommit, "execute", noting)
    with shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()

    assert bool(calls) is is_prepared(shop)
    assert shop.rows() == ["order.placed", "order.paid"]


def test_statements_that_the_server_has_dropped_are_not_used(shop: Shop) -> None:
    with shop.engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.execute(sa.text("DISCARD ALL"))

    with shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()

    assert shop.rows() == ["order.placed", "order.paid"]


def record(shop: Shop, **options: object) -> None:
    """Do nothing but record an event, in a transaction of some kind."""
    with shop.sessions.begin() as session:
        session.connection(execution_options=options)
        shop.outbox.recorder(session).record("order", "o1", OrderPaid(aggregate_id="o1"))


def test_what_is_only_recorded_is_refused_by_a_read_only_transaction(shop: Shop) -> None:
    record(shop)
    with pytest.raises(OutboxStoreError, match="read-only"):
        record(shop, postgresql_readonly=True)

    assert shop.rows() == ["order.placed", "order.paid"]


def test_what_is_only_recorded_is_stored_at_the_isolation_level_that_is_asked_for(
    shop: Shop,
) -> None:
    with shop.engine.begin() as connection:
        connection.execute(
            sa.text(
                f"ALTER TABLE {outbox_message} ADD CONSTRAINT level CHECK "
                "(id = 1 OR current_setting('transaction_isolation') = 'serializable')"
            )
        )
    record(shop, isolation_level="SERIALIZABLE")
    record(shop, isolation_level="SERIALIZABLE")

    assert shop.rows() == ["order.placed", "order.paid", "order.paid"]


def test_a_session_in_another_encoding_stores_what_was_said(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        session.execute(sa.text("SET LOCAL client_encoding TO 'LATIN1'"))
        session.add(Order.place("köln"))

    with shop.engine.connect() as connection:
        ids = connection.scalars(sa.text(f"SELECT aggregate_id FROM {outbox_message} ORDER BY id"))
        assert ids.all() == ["o1", "köln"]


class Kind(str, enum.Enum):  # noqa: UP042  # a StrEnum says its value
    """A text that says something else when it is asked for its text."""

    ORDER = "shop.order"


def test_a_text_of_a_derived_class_is_stored_as_what_it_is(shop: Shop) -> None:
    for _ in range(2):
        with shop.sessions.begin() as session:
            shop.outbox.recorder(session).record(Kind.ORDER, "o2", OrderPaid(aggregate_id="o2"))
            session.connection().execute(sa.text("SELECT 1"))

    with shop.engine.connect() as connection:
        types = connection.scalars(
            sa.text(f"SELECT aggregate_type FROM {outbox_message} ORDER BY id OFFSET 1")
        )
        assert types.all() == ["shop.order"] * 2


@pytest.mark.parametrize("value", ["a\0b", "\ud800", Kind.ORDER, True])
def test_values_that_no_column_takes_or_of_odd_classes_go_by_a_cursor(value: object) -> None:
    prepared = PreparedCommit.of("SELECT %(one)s, %(two)s, %(one)s LIKE 'read %%'")

    assert prepared.query == b"SELECT $1, $2, $1 LIKE 'read %'"
    assert prepared.values_of({"two": None, "one": 1.5}) == [b"1.5", None]
    assert prepared.values_of({"two": value, "one": "1"}) is None


@pytest.mark.parametrize(
    "statement", ["DEALLOCATE ALL", f"ALTER TABLE {outbox_message} ALTER id TYPE integer"]
)
def test_a_statement_that_the_server_has_no_longer_is_worth_another_try(
    shop: Shop, statement: str
) -> None:
    with shop.sessions() as session:
        session.get_one(Order, "o1").pay()
        session.flush()
        driver_connection: Any = session.connection().connection.driver_connection
        driver_connection.pgconn.exec_(statement.encode())  # unseen by psycopg
        if is_prepared(shop):
            with pytest.raises(OutboxStoreError) as refused:
                session.commit()
            assert refused.value.retryable
        else:
            session.commit()
            return

    with shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()
    assert shop.rows() == ["order.placed", "order.paid"]


@pytest.mark.parametrize("wait", range(1, 7))
def test_ctrl_c_at_every_wait_for_the_server_says_so_and_leaves_no_broken_connection(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, wait: int
) -> None:
    """As a function is entered Python calls signal handlers: psycopg may still have to wait."""
    waits, original = 0, psycopg.Connection.wait

    def interrupted(connection: psycopg.Connection[object], *arguments: Any) -> object:  # noqa: ANN401
        nonlocal waits
        waits += 1
        if waits == wait:
            signal.raise_signal(signal.SIGINT)
        return original(connection, *arguments)

    with shop.sessions() as session:
        session.get_one(Order, "o1").pay()
        session.flush()
        with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
            patch.setattr(psycopg.Connection, "wait", interrupted)
            session.commit()
            assert waits < wait, "Ctrl-C is not to be swallowed"

    stored = shop.rows()
    assert stored in (["order.placed"], ["order.placed", "order.paid"])
    with shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()
    assert shop.rows() == [*stored, "order.paid"]


def test_ctrl_c_while_the_server_works_leaves_a_connection_that_goes_on_or_is_closed(
    shop: Shop,
) -> None:
    with shop.engine.connect() as holder, shop.sessions() as session:
        holder.execute(sa.text(f"LOCK TABLE {outbox_message} IN ACCESS EXCLUSIVE MODE"))
        session.get_one(Order, "o1").pay()
        waits = sa.text(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = "
            f"'{outbox_message}'::regclass"
        )

        def interrupt() -> None:
            with shop.engine.connect() as watcher:
                deadline = time.monotonic() + 20
                while not watcher.scalar(waits) and time.monotonic() < deadline:
                    watcher.rollback()
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            session.commit()
        thread.join()
        holder.rollback()

    assert shop.rows() == ["order.placed"]
    with shop.sessions.begin() as session:
        session.get_one(Order, "o1").pay()
    assert shop.rows() == ["order.placed", "order.paid"]
