"""Pages and scrolling on each database, also while others insert and delete rows."""

import datetime as dt
import random
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import orm

from pragmatic_ddd.application.queries import ScrollPositionSigner
from pragmatic_ddd.errors import OutboxStoreError, ScrollPositionError
from pragmatic_ddd.ports import PageRequest, ScrollPosition
from pragmatic_ddd_sqlalchemy import Keyset, OrderedQuery
from tests.adapters.sqlalchemy.databases import EVERY_DATABASE
from tests.adapters.sqlalchemy.outboxes import engine_of

_metadata = sa.MetaData()
_parcel = sa.Table(
    f"q{secrets.token_hex(4)}_parcel",
    _metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("shelf", sa.Integer, nullable=False),
    sa.Column("town", sa.String(10), nullable=False),
    sa.Column("sent_at", sa.DateTime),
    sa.Column("weight", sa.Integer),
)
_p = _parcel.c


class _Base(orm.DeclarativeBase):
    metadata = _metadata


class _Parcel(_Base):
    __table__ = _parcel
    id: orm.Mapped[int]


_ORDERS = [
    Keyset([_p.id]),
    Keyset([_p.id.desc()]),
    Keyset([_p.shelf, _p.id]),
    Keyset([_p.shelf.desc(), _p.town.desc(), _p.id.desc()]),
    Keyset([_p.shelf.desc(), _p.town, _p.id.desc()]),
    Keyset([_p.town, _p.shelf.desc(), _p.id]),
    Keyset([_p.sent_at.nulls_last(), _p.id]),
    Keyset([_p.sent_at.nulls_first(), _p.id.desc()]),
    Keyset([_p.sent_at.desc().nulls_last(), _p.weight.nulls_first(), _p.id]),
    Keyset([_p.shelf, _p.weight.desc().nulls_first(), _p.town, _p.id]),
    Keyset([sa.func.lower(_p.town).nulls_last(), (_p.shelf % 2).desc().nulls_first(), _p.id]),
]


@pytest.fixture(scope="module", params=EVERY_DATABASE)
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[sa.Engine]:
    engine = engine_of(request.param, tmp_path_factory.mktemp("parcels"))
    _metadata.create_all(engine)
    yield engine
    _metadata.drop_all(engine)
    engine.dispose()


@pytest.fixture
def parcels(engine: sa.Engine) -> sa.Engine:
    with engine.begin() as connection:
        connection.execute(sa.delete(_parcel))
    return engine


def put(engine: sa.Engine, *ids: int, **values: object) -> None:
    parcel = {"shelf": 0, "town": "Ulm", "sent_at": None, "weight": None} | values
    with engine.begin() as connection:
        connection.execute(sa.insert(_parcel), [{"id": one} | parcel for one in ids])


def by_id(statement: sa.Select[Any] | None = None) -> OrderedQuery[int]:
    return OrderedQuery(
        sa.select(_p.id, _p.town) if statement is None else statement,
        Keyset([_p.id]),
        lambda row: row.id,
    )


# Few values, so that many are equal; ids are given in the order in which rows come to life.
_VALUES = st.fixed_dictionaries(
    {
        "shelf": st.integers(0, 2),
        "town": st.sampled_from(["", "a", "A", "ab", "ä", "Z", "é"]),
        "sent_at": st.none() | st.sampled_from([dt.datetime(2026, 1, day) for day in (1, 2)]),  # noqa: DTZ001  # as the column
        "weight": st.none() | st.integers(-1, 1),
    }
)
_CHANGES = st.tuples(
    st.lists(_VALUES, max_size=4), st.lists(st.integers(0, 40), max_size=4, unique=True)
)


@pytest.mark.parametrize("number", range(len(_ORDERS)))
@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    first=st.lists(_VALUES, min_size=3, max_size=14),
    limit=st.integers(1, 3),
    changes=st.lists(_CHANGES, max_size=5),
    shuffle=st.randoms(use_true_random=False),
)
def test_every_row_that_is_there_from_start_to_end_is_met_once(  # noqa: PLR0917  # hypothesis names them
    parcels: sa.Engine,
    number: int,
    first: list[dict[str, object]],
    limit: int,
    changes: list[tuple[list[dict[str, object]], list[int]]],
    shuffle: random.Random,
) -> None:
    query = OrderedQuery(sa.select(_p.id), _ORDERS[number], lambda row: row.id)
    signer = ScrollPositionSigner(b"sixteen bytes...")
    free = list(range(1000))
    shuffle.shuffle(free)
    ever: list[int] = []
    with parcels.begin() as connection:
        connection.execute(sa.delete(_parcel))

    def change(new: list[dict[str, object]], gone: list[int]) -> None:
        with parcels.begin() as connection:
            for values in new:
                ever.append(free.pop())
                connection.execute(sa.insert(_parcel), {"id": ever[-1]} | values)
            doomed = [ever[one % len(ever)] for one in gone if ever]
            connection.execute(sa.delete(_parcel).where(_p.id.in_(doomed)))
            present.intersection_update(connection.scalars(sa.select(_p.id)))

    present = set(range(1000))
    change(first, [])
    met: list[int] = []
    position: ScrollPosition | None = None
    has_next = True
    pending = iter(changes)
    while has_next:
        with parcels.connect() as connection:
            part = query.scroll(connection, after=position, limit=limit)
        assert len(part.rows) <= limit
        met += part.rows
        assert len(met) == len(set(met))
        has_next = part.has_next
        if part.position is not None:
            position = signer.position(signer.text(part.position))
        if has_next:
            change(*next(pending, ([], [])))

    assert set(met) <= set(ever)
    assert present <= set(met)
    with parcels.connect() as connection:
        statement = sa.select(_p.id).order_by(*_ORDERS[number].order_by())
        lasting = [one for one in connection.scalars(statement) if one in present]
    assert [one for one in met if one in present] == lasting


def test_a_scroll_that_has_ended_goes_on_when_rows_are_added(parcels: sa.Engine) -> None:
    query = by_id()
    with parcels.connect() as connection:
        nothing = query.scroll(connection, limit=2)
    put(parcels, 1, 2)
    with parcels.connect() as connection:
        both = query.scroll(connection, after=nothing.position, limit=2)
        end = query.scroll(connection, after=both.position, limit=2)
    put(parcels, 3)
    with parcels.connect() as connection:
        added = query.scroll(connection, after=end.position, limit=2)

    assert (nothing.rows, nothing.position, nothing.has_next) == ((), None, False)
    assert (both.rows, both.has_next) == ((1, 2), False)
    assert (end.rows, end.position) == ((), both.position)
    assert added.rows == (3,)


def test_pages_are_numbered_and_counted(parcels: sa.Engine) -> None:
    put(parcels, *range(1, 8))
    query = by_id()
    with parcels.connect() as connection:
        pages = [query.page(connection, PageRequest(number=one, size=3)) for one in (1, 2, 3, 4)]

    assert [page.rows for page in pages] == [(1, 2, 3), (4, 5, 6), (7,), ()]
    assert [page.has_next for page in pages] == [True, True, False, False]
    assert [(page.total, page.page_count) for page in pages] == [(7, 3)] * 4


def test_a_full_last_page_has_no_next_one(parcels: sa.Engine) -> None:
    put(parcels, 1, 2)
    with parcels.connect() as connection:
        page = by_id().page(connection, PageRequest(size=2))

    assert (page.has_next, page.total) == (False, 2)


def test_an_empty_result_has_an_empty_first_page(parcels: sa.Engine) -> None:
    with parcels.connect() as connection:
        page = by_id().page(connection, PageRequest())

    assert (page.rows, page.has_next, page.total, page.page_count) == ((), False, 0, 0)


def test_rows_are_not_counted_where_nobody_asks(parcels: sa.Engine) -> None:
    put(parcels, 1, 2, 3)
    statements: list[str] = []
    sa.event.listen(parcels, "before_cursor_execute", lambda *args: statements.append(args[2]))
    with parcels.connect() as connection:
        page = by_id().page(connection, PageRequest(size=2, with_total=False))
        last = by_id().page(connection, PageRequest(number=2, size=2))

    assert (page.total, page.page_count, page.has_next, last.total) == (None, None, True, 3)
    assert not [one for one in statements if "count" in one]


def test_a_request_has_a_condition_of_its_own_and_the_query_stays_as_it_is(
    parcels: sa.Engine,
) -> None:
    put(parcels, *range(1, 9))
    put(parcels, 9, town="Bonn")
    query = by_id(sa.select(_p.id, _p.town).where(_p.id > 1))
    in_ulm = sa.and_(_p.town == "Ulm", _p.id < 7)
    with parcels.connect() as connection:
        pages = [
            query.page(connection, PageRequest(number=one, size=2), where=in_ulm)
            for one in (1, 2, 3)
        ]
        part = query.scroll(connection, limit=3, where=in_ulm)
        rest = query.scroll(connection, after=part.position, limit=3, where=in_ulm)
        whole = query.scroll(connection, limit=9)

    assert [(page.rows, page.total) for page in pages] == [((2, 3), 5), ((4, 5), 5), ((6,), 5)]
    assert (part.rows, rest.rows, rest.has_next) == ((2, 3, 4), (5, 6), False)
    assert whole.rows == tuple(range(2, 10))


def test_a_projection_sees_the_columns_that_were_selected_and_no_others(
    parcels: sa.Engine,
) -> None:
    put(parcels, 1, shelf=7)
    query = OrderedQuery(
        sa.select(_p.town, _p.shelf), Keyset([_p.shelf, _p.id]), lambda row: dict(row._mapping)
    )
    with parcels.connect() as connection:
        assert query.scroll(connection, limit=1).rows == ({"town": "Ulm", "shelf": 7},)
        assert query.page(connection, PageRequest()).rows == ({"town": "Ulm", "shelf": 7},)


def test_mapped_objects_are_found_in_a_session(parcels: sa.Engine) -> None:
    put(parcels, 1, 2)
    query = OrderedQuery(
        sa.select(_Parcel).order_by(_p.town),
        Keyset([_Parcel.id.desc()]),
        lambda row: (row[0], len(row)),
    )
    with orm.Session(parcels) as session:
        ((parcel, width),) = query.scroll(session, limit=1).rows

        assert parcel is session.get(_Parcel, 2)
        assert width == 1


def test_what_groups_is_scrolled_through_as_a_subquery(parcels: sa.Engine) -> None:
    put(parcels, 1, 2, shelf=1)
    put(parcels, 3, shelf=2)
    per_shelf = sa.select(_p.shelf, sa.func.count().label("parcels")).group_by(_p.shelf).subquery()
    query = OrderedQuery(
        sa.select(per_shelf),
        Keyset([per_shelf.c.parcels.desc().nulls_last(), per_shelf.c.shelf], is_unique=True),
        lambda row: (row.shelf, row.parcels),
    )
    with parcels.connect() as connection:
        first = query.scroll(connection, limit=1)
        second = query.scroll(connection, after=first.position, limit=1)

    assert (first.rows, second.rows) == (((1, 2),), ((2, 1),))


def test_rows_that_the_order_does_not_tell_apart_are_an_error(parcels: sa.Engine) -> None:
    put(parcels, 1, 2)
    twice = sa.select(_p.id).join(_parcel.alias("other"), sa.true())
    with parcels.connect() as connection:
        with pytest.raises(ValueError, match=r"^two rows have the sort keys \(1,\)"):
            by_id(twice).scroll(connection, limit=1)
        with pytest.raises(ValueError, match=r"^two rows have the sort keys \(1,\)"):
            by_id(twice).page(connection, PageRequest(size=1))


def test_behind_the_furthest_page_that_may_be_asked_for_is_nothing(parcels: sa.Engine) -> None:
    put(parcels, 1)
    size = 2**61
    with parcels.connect() as connection:
        page = by_id().page(connection, PageRequest(number=3, size=size))
        assert (page.rows, page.total) == ((), 1)
        assert by_id().page(connection, PageRequest(size=2**63 - 2)).rows == (1,)


def test_decimals_are_scrolled_through_where_the_database_has_them(parcels: sa.Engine) -> None:
    put(parcels, 1, 2, shelf=10)
    share = (sa.cast(_p.shelf, sa.Numeric(12, 6)) / 3).desc().nulls_last()
    query = OrderedQuery(sa.select(_p.id), Keyset([share, _p.id]), lambda row: row.id)
    with parcels.connect() as connection, orm.Session(connection) as session:
        if parcels.dialect.name == "sqlite":
            for asked in (connection, session):
                with pytest.raises(TypeError, match=r"of floats on SQLite, which come back"):
                    query.scroll(asked, limit=1)
            assert query.page(connection, PageRequest()).rows == (1, 2)
        else:
            first = query.scroll(session, limit=1)
            assert query.scroll(session, after=first.position, limit=1).rows == (2,)


def test_a_null_of_an_outer_join_is_an_error(parcels: sa.Engine) -> None:
    put(parcels, 1)
    other = _parcel.alias("other")
    query = OrderedQuery(
        sa.select(_p.id).outerjoin(other, sa.false()), Keyset([other.c.id]), lambda row: row.id
    )
    with parcels.connect() as connection, pytest.raises(ValueError, match="outer join"):
        query.scroll(connection, limit=1)


def test_a_position_of_another_order_is_refused_before_anything_is_asked() -> None:
    other = Keyset([_p.id.desc()]).position([1])
    unused: Any = None
    with pytest.raises(ScrollPositionError):
        by_id().scroll(unused, after=other, limit=1)


def test_a_database_that_is_gone_is_an_outbox_store_error() -> None:
    lost = sa.create_engine("sqlite://")  # without the table
    with lost.connect() as connection:
        with pytest.raises(OutboxStoreError):
            by_id().scroll(connection, limit=1)
        with pytest.raises(OutboxStoreError):
            by_id().page(connection, PageRequest())


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"statement": "SELECT 1"}, r"^statement = 'SELECT 1': give a Select$"),
        ({"order": [_p.id]}, r"^order = <list object>: give a Keyset$"),
        ({"project": 3}, r"^project = 3: give a function$"),
    ],
)
def test_a_wrong_part_is_named(parts: dict[str, object], complaint: str) -> None:
    make: Callable[..., object] = OrderedQuery
    given = {"statement": sa.select(_p.id), "order": Keyset([_p.id]), "project": repr}
    with pytest.raises(TypeError, match=complaint):
        make(**given | parts)


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        (sa.select(_p.id).limit(3), "statement has LIMIT or OFFSET: "),
        (sa.select(_p.id).offset(3), "statement has LIMIT or OFFSET: "),
        (sa.select(_p.id).fetch(3), "statement has LIMIT or OFFSET: "),
        (sa.select(_p.shelf).distinct(), "statement has DISTINCT: "),
    ],
)
def test_a_statement_whose_rows_would_be_others_is_refused(
    statement: "sa.Select[Any]", complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        OrderedQuery(statement, Keyset([_p.id]), repr)


def test_a_wrong_request_is_named() -> None:
    unused: Any = None
    number: Any = 3
    with pytest.raises(TypeError, match=r"^request = 3: give a PageRequest$"):
        by_id().page(unused, number)
    with pytest.raises(ValueError, match=r"^limit = 0: at least 1$"):
        by_id().scroll(unused, limit=0)
    for condition in (True, "id = 1"):
        wrong: Any = condition
        with pytest.raises(TypeError, match=r"^where = .*: give a ColumnElement$"):
            by_id().page(unused, PageRequest(), where=wrong)
        with pytest.raises(TypeError, match=r"^where = .*: give a ColumnElement$"):
            by_id().scroll(unused, limit=1, where=wrong)
