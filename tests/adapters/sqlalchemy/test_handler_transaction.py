"""The transaction of a handler: what ends it behind the inbox' back, and what is no part of it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from pragmatic_ddd.application.inbox import CachedInbox
from pragmatic_ddd.errors import OutboxStoreError, UnitOfWorkError
from pragmatic_ddd.ports import Handling
from pragmatic_ddd.testing.inbox_binding import an_arrival
from pragmatic_ddd_local import InMemoryInboxCache
from pragmatic_ddd_sqlalchemy import create_sqlite_engine, undone
from tests.adapters.sqlalchemy.databases import EVERY_DATABASE
from tests.adapters.sqlalchemy.outboxes import engine_of
from tests.databases import mariadb_engine, postgresql_engine, sqlite_engine
from tests.inboxes import InboxDatabase, inbox_database

_PIDS = {"postgresql": "SELECT pg_backend_pid()", "mysql": "SELECT connection_id()"}
_ENDS = {"postgresql": "SELECT pg_terminate_backend({})", "mysql": "KILL {}"}


@pytest.fixture(params=EVERY_DATABASE)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InboxDatabase]:
    with inbox_database(engine_of(request.param, tmp_path)) as database:
        yield database


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[InboxDatabase]:
    with inbox_database(sqlite_engine(tmp_path)) as database:
        yield database


@pytest.fixture
def postgresql() -> Iterator[InboxDatabase]:
    with inbox_database(postgresql_engine()) as database:
        yield database


@pytest.fixture(
    params=[
        pytest.param(postgresql_engine, marks=pytest.mark.service("postgresql")),
        pytest.param(mariadb_engine, marks=pytest.mark.service("mariadb")),
    ],
    ids=["postgresql", "mariadb"],
)
def server(request: pytest.FixtureRequest) -> Iterator[InboxDatabase]:
    with inbox_database(request.param()) as database:
        yield database


def _nothing_happened(database: InboxDatabase) -> bool:
    return database.committed_effects() == [] and database.count(database.messages) == 0


def _fail(session: Session) -> None:
    with pytest.raises(DBAPIError):
        session.execute(sa.text("SELECT nothing FROM nowhere"))


@pytest.mark.service("postgresql")
@pytest.mark.parametrize("is_told", [True, False], ids=["driver knows", "server is asked"])
def test_a_handler_that_swallows_an_error_does_not_count_as_having_handled(
    postgresql: InboxDatabase, monkeypatch: pytest.MonkeyPatch, *, is_told: bool
) -> None:
    """PostgreSQL rolls back at the COMMIT, and no driver raises an error for it."""
    if not is_told:
        monkeypatch.setattr(undone, "_transaction_status", lambda _: None)

    def swallow(session: Session) -> None:
        postgresql.write(session, "before")
        _fail(session)

    cached = CachedInbox(inbox=postgresql.message_inbox(), cache=InMemoryInboxCache())
    for _ in range(2):
        with pytest.raises(OutboxStoreError, match="nothing is left of this") as refusal:
            cached.handle(an_arrival(), swallow)
        assert refusal.value.retryable
    assert _nothing_happened(postgresql)

    answer = cached.handle(an_arrival(), lambda session: postgresql.write(session, "again"))
    assert answer is Handling.HANDLED
    assert postgresql.committed_effects() == ["again"]


@pytest.mark.service("postgresql")
def test_a_watermark_does_not_move_for_an_error_that_was_swallowed(
    postgresql: InboxDatabase,
) -> None:
    with pytest.raises(OutboxStoreError, match="nothing is left of this"):
        postgresql.watermark_inbox().handle(an_arrival(), _fail)

    assert postgresql.count(postgresql.watermarks) == 0


def test_an_error_within_a_savepoint_undoes_no_more_than_that(database: InboxDatabase) -> None:
    def try_something(session: Session) -> None:
        database.write(session, "before")
        with pytest.raises(DBAPIError), session.begin_nested():
            session.execute(sa.text("SELECT nothing FROM nowhere"))
        database.write(session, "after")

    assert database.message_inbox().handle(an_arrival(), try_something) is Handling.HANDLED
    assert database.committed_effects() == ["before", "after"]


@pytest.mark.service("postgresql")
def test_a_rollback_in_sql_is_noticed(postgresql: InboxDatabase) -> None:
    with pytest.raises(OutboxStoreError, match="nothing is left of this"):
        postgresql.message_inbox().handle(
            an_arrival(), lambda session: session.execute(sa.text("ROLLBACK"))
        )

    assert _nothing_happened(postgresql)


def test_a_handler_must_not_commit_the_connection(database: InboxDatabase) -> None:
    def commit_below(session: Session) -> None:
        database.write(session, "half")
        session.connection().commit()

    with pytest.raises(UnitOfWorkError, match="the handler must not"):
        database.message_inbox().handle(an_arrival(), commit_below)

    assert _nothing_happened(database)


@pytest.mark.parametrize(
    "commit", [Session.commit, lambda session: session.connection().commit()], ids=["own", "below"]
)
def test_a_handler_that_hides_a_refused_commit_has_failed(
    database: InboxDatabase, commit: Callable[[Session], None]
) -> None:
    def hide(session: Session) -> None:
        database.write(session, "half")
        with pytest.raises(UnitOfWorkError):
            commit(session)

    with pytest.raises(UnitOfWorkError, match="has ended the transaction"):
        database.message_inbox().handle(an_arrival(), hide)

    assert _nothing_happened(database)


def test_what_was_refused_is_not_left_to_the_next_user_of_the_connection(
    server: InboxDatabase,
) -> None:
    engine = sa.create_engine(server.engine.url, pool_size=1, pool_reset_on_return=None)

    def commit(session: Session) -> None:
        server.write(session, "half")
        session.commit()

    with pytest.raises(UnitOfWorkError, match="the handler must not"):
        server.message_inbox(sessionmaker(engine)).handle(an_arrival(), commit)
    with engine.begin() as connection:
        connection.execute(sa.text("SELECT 1"))

    assert _nothing_happened(server)
    engine.dispose()


def test_a_two_phase_session_is_refused(sqlite: InboxDatabase) -> None:
    sessions = sessionmaker(sqlite.engine, twophase=True)

    with pytest.raises(UnitOfWorkError, match="two-phase"):
        sqlite.message_inbox(sessions).handle(an_arrival(), _fail)


def test_a_session_that_is_used_again_forgets_a_handler_that_has_failed(
    database: InboxDatabase,
) -> None:
    sessions = scoped_session(database.sessions)
    inbox = database.message_inbox(sessions)

    def fail(session: Session) -> None:
        database.write(session, "half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        inbox.handle(an_arrival(), fail)
    assert inbox.handle(an_arrival(), lambda it: database.write(it, "whole")) is Handling.HANDLED
    with sessions.begin():
        database.write(sessions(), "without an inbox")

    assert database.committed_effects() == ["whole", "without an inbox"]


def test_a_connection_that_is_used_again_is_free_of_a_handler_that_has_failed(
    database: InboxDatabase,
) -> None:
    def fail(session: Session) -> None:
        database.write(session, "half")
        raise RuntimeError

    with database.engine.connect() as connection:
        inbox = database.message_inbox(sessionmaker(connection))
        with pytest.raises(RuntimeError):
            inbox.handle(an_arrival(), fail)
        assert inbox.handle(an_arrival(), lambda it: database.write(it, "whole")) is (
            Handling.HANDLED
        )
        connection.execute(sa.insert(database.effects).values(effect="without an inbox"))
        connection.commit()

    assert database.committed_effects() == ["whole", "without an inbox"]


def test_an_inbox_joins_no_transaction_of_a_session(database: InboxDatabase) -> None:
    with database.sessions() as session:
        database.write(session, "somebody else's")

        with pytest.raises(UnitOfWorkError, match="in a transaction already"):
            database.message_inbox(lambda: session).handle(an_arrival(), _fail)

        assert session.in_transaction()
        session.commit()
    assert database.committed_effects() == ["somebody else's"]


def test_an_inbox_joins_no_transaction_of_a_connection(database: InboxDatabase) -> None:
    """It would say that an event was handled before anybody has committed it."""
    with database.engine.connect() as connection, connection.begin():
        sessions = sessionmaker(connection)

        with pytest.raises(UnitOfWorkError, match="joins its connection's"):
            database.message_inbox(sessions).handle(an_arrival(), _fail)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[InboxDatabase]:
    with inbox_database(create_sqlite_engine(tmp_path / "elsewhere.db")) as database:
        yield database


@pytest.mark.parametrize(
    "write",
    [
        lambda table: sa.insert(table).values(effect="there"),
        lambda table: sa.update(table).values(effect="there"),
        sa.delete,
    ],
    ids=["insert", "update", "delete"],
)
def test_a_write_to_another_database_is_refused(
    database: InboxDatabase, elsewhere: InboxDatabase, write: Callable[[sa.Table], Any]
) -> None:
    def write_to_both(session: Session) -> None:
        database.write(session, "here")
        session.execute(write(elsewhere.effects))

    sessions = sessionmaker(database.engine, binds={elsewhere.effects: elsewhere.engine})
    with pytest.raises(UnitOfWorkError, match=r"writes to .*elsewhere\.db as well"):
        database.message_inbox(sessions).handle(an_arrival(), write_to_both)

    assert _nothing_happened(database)
    assert _nothing_happened(elsewhere)


@pytest.mark.parametrize(
    "text",
    [
        "  insert INTO {} (effect) VALUES ('there')",
        "WITH one AS (SELECT 'there' AS effect) INSERT INTO {} (effect) SELECT effect FROM one",
        "WITH one AS (SELECT 1) UPDATE {} SET effect = 'there'",
        "/* of a tracer */ -- and of a person\nINSERT INTO {} (effect) VALUES ('there')",
        "TRUNCATE TABLE {}",
        "COPY {} (effect) FROM STDIN",
    ],
)
def test_what_is_written_elsewhere_in_plain_sql_is_refused(
    sqlite: InboxDatabase, elsewhere: InboxDatabase, text: str
) -> None:
    statement = sa.text(text.format(elsewhere.effects.name))
    there = {"bind": elsewhere.engine}

    with pytest.raises(UnitOfWorkError, match="writes to"):
        sqlite.message_inbox().handle(
            an_arrival(), lambda session: session.execute(statement, bind_arguments=there)
        )

    assert _nothing_happened(sqlite)
    assert _nothing_happened(elsewhere)


def test_a_handler_may_read_elsewhere(database: InboxDatabase, elsewhere: InboxDatabase) -> None:
    with elsewhere.sessions.begin() as session:
        elsewhere.write(session, "there")

    def copy(session: Session) -> None:
        for effect in session.scalars(sa.select(elsewhere.effects.c.effect)).all():
            database.write(session, effect)

    sessions = sessionmaker(database.engine, binds={elsewhere.effects: elsewhere.engine})

    assert database.message_inbox(sessions).handle(an_arrival(), copy) is Handling.HANDLED
    assert database.committed_effects() == ["there"]


def test_a_connection_that_is_lost_in_a_handler_leaves_nothing(server: InboxDatabase) -> None:
    name = server.engine.dialect.name

    def be_cut_off(session: Session) -> None:
        server.write(session, "half")
        pid = session.scalar(sa.text(_PIDS[name]))
        administrator = sa.create_engine(server.engine.url, poolclass=sa.NullPool)
        with administrator.connect() as connection:
            connection.exec_driver_sql(_ENDS[name].format(pid))

    inbox = server.message_inbox()
    with pytest.raises(OutboxStoreError) as refusal:
        inbox.handle(an_arrival(), be_cut_off)

    assert refusal.value.retryable
    assert _nothing_happened(server)
    assert inbox.handle(an_arrival(), lambda it: server.write(it, "whole")) is Handling.HANDLED
    assert server.committed_effects() == ["whole"]


@pytest.mark.parametrize("has_arrived", [True, False], ids=["committed", "rolled back"])
def test_what_a_commit_without_an_answer_has_done_is_found_by_the_next_delivery(
    server: InboxDatabase, monkeypatch: pytest.MonkeyPatch, *, has_arrived: bool
) -> None:
    commit = server.engine.dialect.do_commit

    def lose_the_answer(connection: Any) -> None:  # noqa: ANN401  # a driver's, of any kind
        if has_arrived:
            commit(connection)
        connection.driver_connection.close()
        commit(connection)

    inbox = CachedInbox(inbox=server.message_inbox(), cache=InMemoryInboxCache())
    with monkeypatch.context() as patched:
        patched.setattr(server.engine.dialect, "do_commit", lose_the_answer)
        with pytest.raises(OutboxStoreError) as refusal:
            inbox.handle(an_arrival(), lambda session: server.write(session, "once"))

    assert refusal.value.retryable
    answer = inbox.handle(an_arrival(), lambda session: server.write(session, "once"))
    assert answer is (Handling.REPEATED if has_arrived else Handling.HANDLED)
    assert server.committed_effects() == ["once"]
