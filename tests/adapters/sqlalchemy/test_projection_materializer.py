"""Views in a table: the latest version stays, whatever comes twice or late."""

import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.orm import Session

from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd_sqlalchemy import SqlAlchemyProjectionMaterializer
from tests.adapters.sqlalchemy.databases import EVERY_DATABASE
from tests.adapters.sqlalchemy.outboxes import engine_of

_metadata = sa.MetaData()
_summary = sa.Table(
    f"v{secrets.token_hex(4)}_summary",
    _metadata,
    sa.Column("order_id", sa.String(40), primary_key=True),
    sa.Column("customer", sa.String(40), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
)


@attrs.frozen
class Summary:
    order_id: str
    customer: str | None = "Ada"


@pytest.fixture(params=EVERY_DATABASE, scope="module")
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[sa.Engine]:
    engine = engine_of(request.param, tmp_path_factory.mktemp("views"))
    _metadata.create_all(engine)
    yield engine
    _metadata.drop_all(engine)
    engine.dispose()


@pytest.fixture
def views(engine: sa.Engine) -> sa.Engine:
    with engine.begin() as connection:
        connection.execute(sa.delete(_summary))
    return engine


Summaries = SqlAlchemyProjectionMaterializer[Summary]


def summaries(session: Session | sa.Connection) -> Summaries:
    return SqlAlchemyProjectionMaterializer(Summary, _summary, session)


def rows(engine: sa.Engine) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        found = connection.execute(sa.select(_summary).order_by(_summary.c.order_id))
        return [tuple(row) for row in found]


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(versions=st.lists(st.integers(1, 5), min_size=1, max_size=8))
def test_in_whatever_order_versions_come_the_latest_stays(
    views: sa.Engine, versions: list[int]
) -> None:
    written = []
    with views.begin() as connection:
        connection.execute(sa.delete(_summary))
        for one in versions:
            view = Summary("o1", f"of {one}")
            written.append(summaries(connection).materialize(view, version=one))

    latest = [max(versions[: one + 1]) for one in range(len(versions))]
    assert written == [one == 0 or latest[one] > latest[one - 1] for one in range(len(versions))]
    assert rows(views) == [("o1", f"of {max(versions)}", max(versions))]


def test_a_late_view_of_what_was_removed_is_there_again_and_one_that_says_so_keeps_it_out(
    views: sa.Engine,
) -> None:
    with views.begin() as connection:
        summaries(connection).materialize(Summary("o1"), version=2)
        summaries(connection).remove("o1")
        assert summaries(connection).materialize(Summary("o1", "late"), version=1)

        summaries(connection).materialize(Summary("o2", "deleted"), version=2)
        assert not summaries(connection).materialize(Summary("o2", "late"), version=1)
    assert rows(views) == [("o1", "late", 1), ("o2", "deleted", 2)]


def test_it_joins_the_callers_transaction(views: sa.Engine) -> None:
    with Session(views) as session:
        summaries(session).materialize(Summary("o1"), version=1)
        session.rollback()

    assert rows(views) == []


def test_of_two_who_insert_the_same_view_the_later_version_stays(views: sa.Engine) -> None:
    if views.dialect.name == "sqlite":
        pytest.skip("this database has one writer: the second transaction waits for the first")
    outcomes = list[bool]()
    # MySQL's and MariaDB's default keeps a snapshot from before the other one's commit.
    level = "READ COMMITTED" if views.dialect.name == "postgresql" else "REPEATABLE READ"

    def write(version: int) -> None:
        with views.execution_options(isolation_level=level).begin() as connection:
            outcomes.append(summaries(connection).materialize(Summary("o1"), version=version))

    for version in (1, 3):
        with views.begin() as connection:
            connection.execute(sa.delete(_summary))
        with views.begin() as connection:
            summaries(connection).materialize(Summary("o1", "Bob"), version=2)
            thread = threading.Thread(target=write, args=(version,))
            thread.start()
            thread.join(0.2)  # it waits for this transaction; where it is late, it need not
            assert thread.is_alive()
        thread.join()

        assert [row[2] for row in rows(views)] == [max(2, version)]
    assert outcomes == [False, True]


def test_a_value_that_the_table_refuses_is_an_error_and_the_transaction_goes_on(
    views: sa.Engine,
) -> None:
    with views.begin() as connection:
        with pytest.raises(OutboxStoreError) as refused:
            summaries(connection).materialize(Summary("o1", None), version=1)
        summaries(connection).materialize(Summary("o2"), version=1)

    assert isinstance(refused.value.__cause__, sa.exc.IntegrityError)
    assert not refused.value.retryable
    assert rows(views) == [("o2", "Ada", 1)]


def test_a_database_that_is_gone_is_an_outbox_store_error() -> None:
    with sa.create_engine("sqlite://").connect() as connection:  # without the table
        calls: list[Callable[[Summaries], object]] = [
            lambda one: one.materialize(Summary("o1"), version=1),
            lambda one: one.remove("o1"),
            lambda one: one.version_of("o1"),
        ]
        for call in calls:
            with pytest.raises(OutboxStoreError):
                call(summaries(connection))


def test_a_wrong_view_or_version_is_refused() -> None:
    with sa.create_engine("sqlite://").connect() as connection:
        materialize: Callable[..., object] = summaries(connection).materialize
        with pytest.raises(TypeError, match=r"^view = 'o1': give a Summary$"):
            materialize("o1", version=1)
        with pytest.raises(ValueError, match=r"^version = 0: at least 1$"):
            materialize(Summary("o1"), version=0)


@attrs.frozen
class Wide:
    order_id: str
    weight: int


@attrs.frozen
class Keyless:
    customer: str


@pytest.mark.parametrize(
    ("parts", "kind", "complaint"),
    [
        ({"view_type": str}, TypeError, r"^view_type = <class str>: give an attrs class$"),
        ({"view_type": Summary("o1")}, TypeError, r"^view_type = <Summary object>: give an"),
        ({"table": "summary"}, TypeError, r"^table = 'summary': give a Table$"),
        ({"session": None}, TypeError, r"^session = None: give a Session$"),
        ({"version_column": "v"}, ValueError, r"^table .* has no column for v$"),
        (
            {"view_type": Keyless},
            ValueError,
            r"^view_type <class Keyless> has no field for order_id",
        ),
        ({"view_type": Wide}, ValueError, r"^table .* has no column for weight$"),
        (
            {"table": sa.Table("bare", sa.MetaData(), sa.Column("order_id", sa.Integer))},
            ValueError,
            r"^table bare: its primary key has not one column$",
        ),
    ],
)
def test_a_wrong_part_is_named(
    parts: dict[str, object], kind: type[Exception], complaint: str
) -> None:
    make: Callable[..., object] = SqlAlchemyProjectionMaterializer
    right = {"view_type": Summary, "table": _summary, "session": Session()}
    with pytest.raises(kind, match=complaint):
        make(**right | parts)
