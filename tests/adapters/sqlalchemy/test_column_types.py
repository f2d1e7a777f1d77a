"""Whatever hypothesis makes comes back equal and of its type from every database.

And it is found there: as a parameter, and as a literal in the statement.
"""

import datetime as dt
import enum
from collections.abc import Iterator
from decimal import Decimal, localcontext

import attrs
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pragmatic_ddd.domain import IEnumValue
from pragmatic_ddd_orjson import ValueCodecs
from pragmatic_ddd_sqlalchemy import (
    EnumValueType,
    ExactDecimalType,
    UtcInstantType,
    ValueObjectType,
)
from tests.adapters.sqlalchemy.columns import ColumnOfType, column_of
from tests.adapters.sqlalchemy.databases import EVERY_DATABASE
from tests.adapters.sqlalchemy.sequences import engine_of

OFTEN = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


class Status(enum.Enum):
    OPEN = "open"
    SHOUTED_OPEN = "OPEN"
    PAID = "paid 100%"
    ODD = "it's \\ :odd %(x)s \N{GRINNING FACE}"


class Channel(IEnumValue):
    SHOP = ("shop", "In the shop")
    WEB = ("web", "On the web", "Ordered by the customer")


class Priority(enum.IntEnum):
    LOW = -(2**31)
    HIGH = 2**31 - 1


@attrs.frozen
class Money:
    amount: Decimal
    currency: str


@attrs.frozen
class Contract:
    """A value with something of everything."""

    money: Money
    signed_at: dt.datetime
    tags: frozenset[str]
    history: tuple[Money, ...]
    status: Status
    weight: float
    number: int
    comments: dict[str, str]
    parent: "Contract | None" = None


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
_MONEY = st.builds(Money, st.decimals(allow_nan=False, allow_infinity=False), _TEXT)
_MOMENTS = st.datetimes(
    dt.datetime(1000, 1, 3),  # noqa: DTZ001  # hypothesis adds the zone
    dt.datetime(9999, 12, 29),  # noqa: DTZ001  # as above
    timezones=st.timezones()
    | st.builds(
        dt.timezone,
        st.timedeltas(min_value=dt.timedelta(hours=-23), max_value=dt.timedelta(hours=23)),
    ),
)
_CONTRACTS = st.recursive(
    st.none(),
    lambda parents: st.builds(
        Contract,
        money=_MONEY,
        signed_at=_MOMENTS.map(lambda moment: moment.astimezone(dt.UTC)),
        tags=st.frozensets(_TEXT, max_size=3),
        history=st.lists(_MONEY, max_size=3).map(tuple),
        status=st.sampled_from(Status),
        weight=st.floats(-1e15, 1e15),
        number=st.integers(),
        comments=st.dictionaries(_TEXT, _TEXT, max_size=3),
        parent=parents,
    ),
    max_leaves=2,
).filter(lambda contract: contract is not None)
_VALUES = ValueCodecs()


@pytest.fixture(scope="module", params=EVERY_DATABASE)
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[sa.Engine]:
    engine = engine_of(request.param, tmp_path_factory.mktemp("columns"))
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def statuses(engine: sa.Engine) -> Iterator[ColumnOfType[Status]]:
    with column_of(EnumValueType(Status), engine) as column:
        yield column


@pytest.fixture(scope="module")
def priorities(engine: sa.Engine) -> Iterator[ColumnOfType[Priority]]:
    with column_of(EnumValueType(Priority), engine) as column:
        yield column


@pytest.fixture(scope="module")
def moments(engine: sa.Engine) -> Iterator[ColumnOfType[dt.datetime]]:
    with column_of(UtcInstantType(), engine) as column:
        yield column


@pytest.fixture(scope="module")
def decimals(engine: sa.Engine) -> Iterator[ColumnOfType[Decimal]]:
    with column_of(ExactDecimalType(18, 8), engine) as column:
        yield column


@pytest.fixture(scope="module")
def moneys(engine: sa.Engine) -> Iterator[ColumnOfType[Money]]:
    with column_of(ValueObjectType(_VALUES.codec(Money)), engine) as column:
        yield column


@pytest.fixture(scope="module")
def lists(engine: sa.Engine) -> Iterator[ColumnOfType[tuple[Money, ...]]]:
    with column_of(ValueObjectType(_VALUES.codec(tuple[Money, ...])), engine) as column:
        yield column


@pytest.fixture(scope="module")
def contracts(engine: sa.Engine) -> Iterator[ColumnOfType[Contract]]:
    with column_of(ValueObjectType(_VALUES.codec(Contract)), engine) as column:
        yield column


@pytest.mark.parametrize("status", Status)
def test_an_enum_of_text_comes_back(statuses: ColumnOfType[Status], status: Status) -> None:
    assert statuses.round_trip(status) is status
    assert statuses.stored() == status.value


@pytest.mark.parametrize("priority", Priority)
def test_an_enum_of_numbers_comes_back(
    priorities: ColumnOfType[Priority], priority: Priority
) -> None:
    assert priorities.round_trip(priority) is priority
    assert priorities.stored() == priority.value


def test_an_enum_with_names_to_show_is_stored_by_its_value(engine: sa.Engine) -> None:
    with column_of(EnumValueType(Channel), engine) as column:
        assert column.round_trip(Channel.WEB) is Channel.WEB
        assert column.stored() == "web"


def test_members_are_compared_by_their_values(
    statuses: ColumnOfType[Status], priorities: ColumnOfType[Priority]
) -> None:
    statuses.insert(Status.OPEN, Status.SHOUTED_OPEN, None, Status.PAID)
    priorities.insert(Priority.LOW, Priority.HIGH)

    assert statuses.ids(statuses.held == Status.OPEN) == [0], "and not OPEN, on MariaDB, too"
    assert statuses.ids(statuses.held != Status.OPEN) == [1, 3]
    assert statuses.ids(statuses.held.in_([Status.PAID, Status.OPEN])) == [0, 3]
    assert statuses.ids(statuses.held.is_(None)) == [2]
    assert priorities.ids(priorities.held > Priority.LOW) == [1]


@given(_MOMENTS)
@OFTEN
def test_an_instant_comes_back_in_utc(
    moments: ColumnOfType[dt.datetime], moment: dt.datetime
) -> None:
    back = moments.round_trip(moment)

    assert back == moment.astimezone(dt.UTC)
    assert type(back) is dt.datetime
    assert back.tzinfo is dt.UTC
    assert back.microsecond == moment.astimezone(dt.UTC).microsecond


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Etc/GMT+12", "Asia/Manila"])
def test_instants_at_both_ends_come_back_in_a_session_of_every_time_zone(
    moments: ColumnOfType[dt.datetime], zone: str
) -> None:
    ends = {"mysql": (1000, 9999), "mariadb": (1000, 9999)}.get(moments.database, (1, 9999))
    first = dt.datetime(ends[0], 1, 1, 16, tzinfo=dt.UTC)
    last = dt.datetime(ends[1], 12, 31, 7, 59, 59, 999_999, tzinfo=dt.UTC)
    if moments.database == "postgresql":
        moments.connection.exec_driver_sql(f"SET TIME ZONE '{zone}'")

    try:
        assert [moments.round_trip(end) for end in (first, last)] == [first, last]
    finally:
        if moments.database == "postgresql":
            moments.connection.exec_driver_sql("RESET TIME ZONE")


@given(st.lists(_MOMENTS, min_size=2, max_size=4, unique=True))
@OFTEN
def test_instants_sort_and_compare_as_they_do_in_python(
    moments: ColumnOfType[dt.datetime], some: list[dt.datetime]
) -> None:
    some = [moment.astimezone(dt.UTC) for moment in some]
    moments.insert(*some)

    assert moments.of_all(sa.func.max(moments.held)) == max(some)
    assert moments.ids(moments.held < some[0]) == [
        n for n, moment in enumerate(some) if moment < some[0]
    ]


@given(st.decimals("-9999999999.99999999", "9999999999.99999999", places=8) | st.integers(-9, 9))
@OFTEN
def test_a_decimal_comes_back_with_all_its_places(
    decimals: ColumnOfType[Decimal], number: Decimal
) -> None:
    with localcontext(prec=3):  # nobody rounds by the way
        back = decimals.round_trip(number)

        assert back == number
        assert type(back) is Decimal
        assert back.as_tuple().exponent == -8


@given(st.lists(st.decimals(-999, 999, places=8), min_size=2, max_size=5))
@OFTEN
def test_decimals_sort_compare_and_add_up_as_they_do_in_python(
    decimals: ColumnOfType[Decimal], some: list[Decimal]
) -> None:
    decimals.insert(*some)

    assert decimals.of_all(sa.func.sum(decimals.held)) == sum(some)
    assert decimals.of_all(sa.func.min(decimals.held)) == min(some)
    assert decimals.select(decimals.held + decimals.held) == [one + one for one in some]
    assert decimals.select(decimals.held - Decimal("0.00000001")) == [
        one - Decimal("0.00000001") for one in some
    ]
    assert decimals.select(decimals.held * 3) == [3 * one for one in some]
    assert decimals.select(7 * decimals.held) == [7 * one for one in some]
    assert decimals.select(decimals.held * decimals.table.c.id) == [
        n * one for n, one in enumerate(some)
    ]
    assert decimals.select(decimals.table.c.id * decimals.held) == [
        n * one for n, one in enumerate(some)
    ]
    assert decimals.ids(decimals.held >= some[0]) == [
        n for n, one in enumerate(some) if one >= some[0]
    ]
    assert decimals.ids(decimals.held.between(Decimal(0), 999)) == [
        n for n, one in enumerate(some) if one >= 0
    ]


@given(_MONEY)
@OFTEN
def test_a_value_object_comes_back(moneys: ColumnOfType[Money], money: Money) -> None:
    back = moneys.round_trip(money)

    assert back == money
    assert type(back) is Money
    assert str(back.amount) == str(money.amount)


@given(st.lists(_MONEY, max_size=4).map(tuple))
@OFTEN
def test_a_list_of_value_objects_comes_back(
    lists: ColumnOfType[tuple[Money, ...]], some: tuple[Money, ...]
) -> None:
    back = lists.round_trip(some)

    assert back == some
    assert type(back) is tuple


@given(_CONTRACTS)
@OFTEN
def test_a_value_object_with_something_of_everything_comes_back(
    contracts: ColumnOfType[Contract], contract: Contract
) -> None:
    back = contracts.round_trip(contract)

    assert back == contract
    assert type(back.weight) is float
    assert back.signed_at.utcoffset() == dt.timedelta()


def test_nothing_is_null(
    moneys: ColumnOfType[Money],
    moments: ColumnOfType[dt.datetime],
    decimals: ColumnOfType[Decimal],
) -> None:
    for column in (moneys, moments, decimals):
        column.insert(None)

        assert column.select() == [None]
        assert column.stored() is None
        assert column.ids(column.held == None) == [0]  # noqa: E711  # SQLAlchemy's IS NULL


def test_equal_values_are_equal_in_the_database(contracts: ColumnOfType[Contract]) -> None:
    def contract(comments: dict[str, str]) -> Contract:
        return Contract(
            money=Money(Decimal("1.10"), "EUR"),
            signed_at=dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
            tags=frozenset({"a", "b"}),
            history=(),
            status=Status.OPEN,
            weight=1.0,
            number=7,
            comments=comments,
        )

    contracts.insert(contract({"x": "1", "y": "2"}))

    assert contracts.ids(contracts.held == contract({"y": "2", "x": "1"})) == [0]
    assert contracts.ids(contracts.held == contract({"y": "2"})) == []
    assert contracts.ids(contracts.held.in_([contract({"y": "2", "x": "1"})])) == [0]


def test_a_part_of_a_value_object_is_found_in_sql(moneys: ColumnOfType[Money]) -> None:
    moneys.insert(Money(Decimal(1), "EUR"), Money(Decimal(2), "it's"))

    assert moneys.ids(moneys.held["currency"].as_string() == "EUR") == [0]
    assert moneys.select(moneys.held["currency"].as_string()) == ["EUR", "it's"]


def test_a_duration_is_added_to_an_instant(moments: ColumnOfType[dt.datetime]) -> None:
    if moments.database != "postgresql":
        pytest.skip("SQLAlchemy has no durations in SQL there")
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC)
    moments.insert(moment)

    later = moments.held + dt.timedelta(hours=1)

    assert moments.select(later) == [moment + dt.timedelta(hours=1)]
