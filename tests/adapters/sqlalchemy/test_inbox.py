"""The inbox with a row for each event: what it refuses, retries, costs and forgets."""

import datetime as dt
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.errors import (
    ConfigurationError,
    OutboxSchemaError,
    OutboxStoreError,
    UnitOfWorkError,
)
from pragmatic_ddd.ports import Handling
from pragmatic_ddd.testing.inbox_binding import an_arrival
from pragmatic_ddd_sqlalchemy import (
    SqlAlchemyInbox,
    SqlAlchemyUnitOfWork,
    SqlAlchemyUnitsOfWork,
    create_sqlite_engine,
    inbox_ddl,
    inbox_table,
)
from pragmatic_ddd_sqlalchemy.errors import RefusedByDatabaseError
from tests import servers
from tests.adapters.sqlalchemy.databases import EVERY_DATABASE, shop
from tests.adapters.sqlalchemy.models import Order
from tests.adapters.sqlalchemy.outboxes import engine_of
from tests.adapters.sqlalchemy.shop import Shop
from tests.adapters.sqlalchemy.statements import statements_of
from tests.databases import mariadb_engine, sqlite_engine
from tests.inboxes import InboxDatabase, inbox_database

__all__ = ["shop"]

_AGED = {
    "sqlite": "strftime('%Y-%m-%d %H:%M:%f', handled_at, '-60 seconds') || '000'",
    "postgresql": "handled_at - interval '60 seconds'",
    "mysql": "handled_at - INTERVAL 60 SECOND",
}


@pytest.fixture(params=EVERY_DATABASE)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[InboxDatabase]:
    with inbox_database(engine_of(request.param, tmp_path)) as database:
        yield database


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[InboxDatabase]:
    with inbox_database(sqlite_engine(tmp_path)) as database:
        yield database


def _do_nothing(_: object) -> None: ...


def _nothing_happened(database: InboxDatabase) -> bool:
    return database.committed_effects() == [] and database.count(database.messages) == 0


def test_a_handler_must_not_commit(database: InboxDatabase) -> None:
    def commit_halfway(session: Session) -> None:
        database.write(session, "half")
        session.commit()

    with pytest.raises(UnitOfWorkError, match="the handler must not"):
        database.message_inbox().handle(an_arrival(), commit_halfway)

    assert _nothing_happened(database)


def test_a_handler_that_hides_its_refused_commit_commits_nothing_by_itself(
    database: InboxDatabase,
) -> None:
    def commit_anyway(session: Session) -> None:
        database.write(session, "half")
        with pytest.raises(UnitOfWorkError):
            session.commit()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        database.message_inbox().handle(an_arrival(), commit_anyway)

    assert _nothing_happened(database)


def test_a_handler_must_not_roll_back(database: InboxDatabase) -> None:
    def begin_anew(session: Session) -> None:
        session.rollback()
        database.write(session, "without a mark")

    with pytest.raises(UnitOfWorkError, match="has ended the transaction"):
        database.message_inbox().handle(an_arrival(), begin_anew)

    assert _nothing_happened(database)


def test_a_handler_must_not_close_its_session(database: InboxDatabase) -> None:
    with pytest.raises(UnitOfWorkError, match="has ended the transaction"):
        database.message_inbox().handle(an_arrival(), lambda session: session.close())

    assert _nothing_happened(database)


def test_a_handler_may_use_savepoints(database: InboxDatabase) -> None:
    def try_this_and_that(session: Session) -> None:
        with session.begin_nested():
            database.write(session, "this")
        with session.begin_nested() as savepoint:
            database.write(session, "that")
            savepoint.rollback()
        session.begin_nested()  # and is left open
        database.write(session, "more")

    answer = database.message_inbox().handle(an_arrival(), try_this_and_that)

    assert answer is Handling.HANDLED
    assert database.committed_effects() == ["this", "more"]
    assert database.count(database.messages) == 1


def test_what_the_database_refuses_at_the_commit_leaves_no_mark(database: InboxDatabase) -> None:
    def write_twice(session: Session) -> None:
        session.execute(sa.insert(database.effects).values(id=1, effect="one"))
        session.execute(sa.insert(database.effects).values(id=1, effect="two"))

    with pytest.raises(sa.exc.IntegrityError):
        database.message_inbox().handle(an_arrival(), write_twice)

    assert _nothing_happened(database)


def test_an_event_takes_one_statement_beside_those_of_its_handler(database: InboxDatabase) -> None:
    inbox = database.message_inbox()
    inbox.handle(an_arrival(of="warm"), _do_nothing)

    with statements_of(database.engine) as statements:
        inbox.handle(an_arrival(), _do_nothing)

    assert len([one for one in statements if not one.startswith("BEGIN")]) == 1


@pytest.mark.parametrize("key", ["", "a" * 201, "a ", "a\0b"])
def test_a_key_that_a_database_would_change_is_refused(sqlite: InboxDatabase, key: str) -> None:
    with pytest.raises(RefusedByDatabaseError, match="subscriber"):
        sqlite.message_inbox().handle(an_arrival(subscriber=key), _do_nothing)


def test_the_longest_keys_are_kept(database: InboxDatabase) -> None:
    arrival = an_arrival(of="ü" * 160, subscriber="ß" * 200)

    answers = [database.message_inbox().handle(arrival, _do_nothing) for _ in range(2)]

    assert answers == [Handling.HANDLED, Handling.REPEATED]


def test_what_was_handled_long_ago_is_forgotten_in_batches(database: InboxDatabase) -> None:
    inbox = database.message_inbox()
    for of in "abcde":
        inbox.handle(an_arrival(of=of), _do_nothing)
    aged = sa.text(_AGED[database.engine.dialect.name])
    with database.engine.begin() as connection:
        connection.execute(sa.update(database.messages).values(handled_at=aged))
    inbox.handle(an_arrival(of="young"), _do_nothing)

    half_a_minute = dt.timedelta(seconds=30)
    counts = [inbox.purge(older_than=half_a_minute, batch_size=2) for _ in range(4)]

    assert counts == [2, 2, 1, 0]
    assert inbox.handle(an_arrival(of="a"), _do_nothing) is Handling.HANDLED
    assert inbox.handle(an_arrival(of="young"), _do_nothing) is Handling.REPEATED


@pytest.mark.service("postgresql")
def test_a_batch_is_no_larger_than_it_says_whatever_the_plan_is() -> None:
    """A nested loop runs a subquery again for each row, and finds the next ones to delete."""
    plans = " ".join(f"-c enable_{one}=off" for one in ("hashagg", "hashjoin", "mergejoin", "sort"))
    options = {"options": f"{plans} -c enable_material=off"}
    engine = sa.create_engine(servers.postgresql_url(), connect_args=options)
    with inbox_database(engine) as database:
        inbox = database.message_inbox()
        for number in range(6):
            inbox.handle(an_arrival(of=str(number)), _do_nothing)

        counts = [inbox.purge(older_than=dt.timedelta(), batch_size=2) for _ in range(4)]

    assert counts == [2, 2, 2, 0]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"older_than": 5}, TypeError),
        ({"older_than": dt.timedelta(), "batch_size": 0}, ValueError),
        ({"older_than": dt.timedelta(), "batch_size": "2"}, TypeError),
    ],
)
def test_a_purge_by_mistake_is_refused(
    sqlite: InboxDatabase, given: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=list(given)[-1]):
        sqlite.message_inbox().purge(**given)


class _DeadlockError(Exception):
    """As MySQL's driver says it."""

    def __init__(self) -> None:
        super().__init__(1213, "Deadlock found")


def _fail_marks(engine: sa.Engine, times: int) -> list[str]:
    failed: list[str] = []

    def fail(_: object, __: object, statement: str, *___: object) -> None:
        if "INSERT INTO" in statement and len(failed) < times:
            failed.append(statement)
            raise OperationalError(statement, {}, _DeadlockError())

    sa.event.listen(engine, "before_cursor_execute", fail)
    return failed


def test_a_mark_that_has_lost_a_race_is_written_again(sqlite: InboxDatabase) -> None:
    failed = _fail_marks(sqlite.engine, 3)
    calls: list[object] = []

    assert sqlite.message_inbox().handle(an_arrival(), calls.append) is Handling.HANDLED
    assert len(failed) == 3
    assert len(calls) == 1


def test_a_mark_that_loses_every_race_is_an_error_that_may_pass(sqlite: InboxDatabase) -> None:
    failed = _fail_marks(sqlite.engine, 1000)

    with pytest.raises(OutboxStoreError, match="Deadlock found") as refusal:
        sqlite.message_inbox().handle(an_arrival(), _do_nothing)

    assert refusal.value.retryable
    assert len(failed) == 8


@pytest.mark.service("mariadb")
def test_a_handler_that_swallows_a_deadlock_does_not_commit_without_its_mark() -> None:
    """The database has rolled back the mark as well, and goes on as if nothing had happened."""
    with inbox_database(mariadb_engine()) as database, database.engine.connect() as other:
        effects, key = database.effects, database.effects.c.id
        rows = [{"id": number, "effect": "before"} for number in (1, 2)]
        with database.engine.begin() as connection:
            connection.execute(sa.insert(effects), rows)
        # InnoDB rolls back the transaction that has changed the fewest rows: not this one.
        other.execute(sa.insert(effects), [{"effect": "more"} for _ in range(100)])
        other.execute(sa.update(effects).where(key == 2).values(effect="theirs"))

        def lock_the_first() -> None:
            other.execute(sa.update(effects).where(key == 1).values(effect="theirs"))

        def swallow(session: Session) -> None:
            session.execute(sa.update(effects).where(key == 1).values(effect="ours"))
            thread.start()
            with pytest.raises(OperationalError):
                session.execute(sa.update(effects).where(key == 2).values(effect="ours"))
            database.write(session, "after")

        thread = threading.Thread(target=lock_the_first)
        with pytest.raises(OutboxStoreError, match="rolled back all of this transaction"):
            database.message_inbox().handle(an_arrival(), swallow)
        thread.join()
        other.rollback()

        assert database.committed_effects() == ["before", "before"]
        assert database.count(database.messages) == 0


def test_a_handler_is_not_repeated_by_the_inbox(sqlite: InboxDatabase) -> None:
    calls: list[object] = []

    def fail(work: object) -> None:
        calls.append(work)
        raise OperationalError("", {}, _DeadlockError())

    with pytest.raises(OperationalError):
        sqlite.message_inbox().handle(an_arrival(), fail)

    assert len(calls) == 1


def test_a_missing_table_is_an_error_of_the_store(tmp_path: Path) -> None:
    engine = sqlite_engine(tmp_path)

    with pytest.raises(OutboxStoreError, match="no such table: inbox_message"):
        SqlAlchemyInbox(sessionmaker(engine)).handle(an_arrival(), _do_nothing)
    engine.dispose()


def test_a_session_that_commits_by_itself_is_refused(database: InboxDatabase) -> None:
    sessions = sessionmaker(database.engine.execution_options(isolation_level="AUTOCOMMIT"))

    with pytest.raises(UnitOfWorkError, match="AUTOCOMMIT"):
        database.message_inbox(sessions).handle(an_arrival(), _do_nothing)

    assert _nothing_happened(database)


def test_a_sqlite_engine_that_begins_too_late_is_refused(tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/late.db")

    with pytest.raises(ConfigurationError, match="make_sqlite_safe"):
        SqlAlchemyInbox(sessionmaker(engine)).handle(an_arrival(), _do_nothing)
    engine.dispose()


def test_a_session_without_a_bind_for_the_inbox_is_refused(sqlite: InboxDatabase) -> None:
    sessions = sessionmaker(binds={sqlite.effects: sqlite.engine})

    with pytest.raises(UnitOfWorkError, match="no bind for the inbox"):
        sqlite.message_inbox(sessions).handle(an_arrival(), _do_nothing)


def test_a_session_with_several_binds_works_where_the_inbox_is(
    sqlite: InboxDatabase, tmp_path: Path
) -> None:
    elsewhere = create_sqlite_engine(tmp_path / "elsewhere.db")
    sessions = sessionmaker(
        elsewhere, binds={sqlite.messages: sqlite.engine, sqlite.effects: sqlite.engine}
    )

    sqlite.message_inbox(sessions).handle(an_arrival(), lambda work: sqlite.write(work, "here"))

    assert sqlite.committed_effects() == ["here"]
    elsewhere.dispose()


def test_what_makes_no_session_is_named(sqlite: InboxDatabase) -> None:
    inbox: SqlAlchemyInbox[Any] = SqlAlchemyInbox(sqlite.engine.connect, sqlite.messages)

    with pytest.raises(TypeError, match="Connection object"):
        inbox.handle(an_arrival(), _do_nothing)
    with pytest.raises(TypeError, match="begin"):
        SqlAlchemyInbox(5)  # type: ignore[arg-type]  # the point


@pytest.fixture
def inbox_in_shop(shop: Shop) -> Iterator[SqlAlchemyInbox[SqlAlchemyUnitOfWork]]:
    metadata = sa.MetaData()
    table = inbox_table(metadata)
    metadata.create_all(shop.engine)
    yield SqlAlchemyInbox(SqlAlchemyUnitsOfWork(shop.sessions), table)
    metadata.drop_all(shop.engine)


def test_events_that_a_handler_raises_are_stored_once(
    shop: Shop, inbox_in_shop: SqlAlchemyInbox[SqlAlchemyUnitOfWork]
) -> None:
    shop.place("o1")

    for _ in range(3):
        inbox_in_shop.handle(an_arrival(), lambda work: work.get(Order, "o1").pay())

    assert shop.rows() == ["order.placed", "order.paid"]
    assert shop.orders() == {"o1": (True, 2)}
    assert shop.eager.announced_types == ["test.order.paid"]


def test_a_handler_must_not_commit_its_unit_of_work(
    shop: Shop, inbox_in_shop: SqlAlchemyInbox[SqlAlchemyUnitOfWork]
) -> None:
    shop.place("o1")

    def commit(work: SqlAlchemyUnitOfWork) -> None:
        work.get(Order, "o1").pay()
        work.commit()

    for _ in range(2):
        with pytest.raises(UnitOfWorkError, match="the handler must not"):
            inbox_in_shop.handle(an_arrival(), commit)

    assert shop.orders() == {"o1": (False, 1)}
    assert shop.rows() == ["order.placed"]


def test_a_handler_that_hides_that_it_committed_its_unit_of_work_is_refused(
    shop: Shop, inbox_in_shop: SqlAlchemyInbox[SqlAlchemyUnitOfWork]
) -> None:
    shop.place("o1")

    def commit_and_hide(work: SqlAlchemyUnitOfWork) -> None:
        work.get(Order, "o1").pay()
        with pytest.raises(UnitOfWorkError):
            work.commit()

    with pytest.raises(UnitOfWorkError, match="has ended the transaction"):
        inbox_in_shop.handle(an_arrival(), commit_and_hide)

    assert shop.orders() == {"o1": (False, 1)}


@pytest.mark.parametrize("dialect", ["postgresql", "mysql", "mariadb", "sqlite"])
def test_a_migration_is_given_table_and_index(dialect: str) -> None:
    table, index = inbox_ddl(dialect)

    assert table.startswith("CREATE TABLE inbox_message")
    assert "PRIMARY KEY (subscriber, message_id)" in table
    assert index == "CREATE INDEX inbox_message_handled ON inbox_message (handled_at)"


def test_a_migration_of_another_database_is_refused() -> None:
    with pytest.raises(ValueError, match="oracle"):
        inbox_ddl("oracle")


def test_a_table_that_was_made_by_hand_is_the_same(tmp_path: Path) -> None:
    engine = sqlite_engine(tmp_path)
    with engine.begin() as connection:
        for statement in inbox_ddl("sqlite"):
            connection.exec_driver_sql(statement)

    inbox = SqlAlchemyInbox(sessionmaker(engine))

    assert inbox.handle(an_arrival(), _do_nothing) is Handling.HANDLED
    assert inbox.handle(an_arrival(), _do_nothing) is Handling.REPEATED
    engine.dispose()


def test_a_database_that_nobody_knows_is_named(sqlite: InboxDatabase) -> None:
    sqlite.engine.dialect.name = "oracle"

    with pytest.raises(OutboxSchemaError, match="no inbox on 'oracle'"):
        sqlite.message_inbox().handle(an_arrival(), _do_nothing)
    sqlite.engine.dialect.name = "sqlite"
