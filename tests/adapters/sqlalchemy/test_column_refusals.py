"""What a column does not hold is refused before it is sent, by its value and the rule."""

import datetime as dt
import decimal
import enum
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pytest
import sqlalchemy as sa
from sqlalchemy import orm

from pragmatic_ddd.errors import InfrastructureError
from pragmatic_ddd.ports import ValueCodec
from pragmatic_ddd_orjson import ValueCodecs
from pragmatic_ddd_sqlalchemy import (
    EnumValueType,
    ExactDecimalType,
    UtcInstantType,
    ValueObjectType,
    create_memory_engine,
)
from pragmatic_ddd_sqlalchemy.errors import ColumnValueError, translated
from pragmatic_ddd_sqlalchemy.table import dialect_named
from tests.adapters.sqlalchemy.columns import ColumnOfType, column_of
from tests.adapters.sqlalchemy.databases import EVERY_DATABASE
from tests.adapters.sqlalchemy.sequences import engine_of


class Status(enum.Enum):
    OPEN = "open"
    PAID = "paid"


class Lenient(enum.Enum):
    KNOWN = "known"
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, value: object) -> "Lenient":
        return cls.UNKNOWN


@attrs.frozen
class Note:
    text: str
    weight: float = 0.0


_VALUES = ValueCodecs()
_A_CLASS: Any = str
_AN_ENUM: Any = enum.Enum  # made by a call, it has no type
_NOTES = ValueObjectType(_VALUES.codec(Note))
_CENTS = ExactDecimalType(5, 2)


def _bound(kind: "sa.types.TypeEngine[Any]", value: object, dialect: str = "sqlite") -> object:
    """Return what a driver would be given."""
    bind = kind.dialect_impl(dialect_named(dialect)).bind_processor(dialect_named(dialect))
    assert bind is not None
    return bind(value)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (EnumValueType(Status), "paid", "a column of Status: 'paid' is no member"),
        (EnumValueType(Status), Lenient.KNOWN, "KNOWN: 'known'> is no member"),
        (UtcInstantType(), dt.datetime(2026, 1, 2), "has no time zone: what instant is it"),  # noqa: DTZ001  # the point
        (UtcInstantType(), dt.date(2026, 1, 2), "is of type date"),
        (UtcInstantType(), "2026-01-02T03:04:05Z", "is of type str"),
        (
            UtcInstantType(),
            dt.datetime.max.replace(tzinfo=dt.timezone(dt.timedelta(hours=-1))),
            "is beyond what UTC has",
        ),
        (
            UtcInstantType(),
            dt.datetime.min.replace(tzinfo=dt.UTC) + dt.timedelta(hours=15, minutes=59),
            "could not be read in every time zone: from 0001-01-01 16:00:00",
        ),
        (UtcInstantType(), dt.datetime.max.replace(tzinfo=dt.UTC), "without an end, take NULL"),
        (_CENTS, 1.5, r"decimals \(5, 2\): 1.5 is of type float, not Decimal"),
        (_CENTS, True, "True is of type bool"),
        (_CENTS, "1.50", "'1.50' is of type str"),
        (_CENTS, Decimal("NaN"), "NaN is no number"),
        (_CENTS, Decimal("-Infinity"), "-Infinity is no number"),
        (_CENTS, Decimal("1.005"), "1.005 has more than 2 places: round it before"),
        (_CENTS, Decimal("1E-999999"), "has more than 2 places"),
        (_CENTS, Decimal(-1000), "-1000 has more than 5 digits"),
        (_CENTS, 1000, "1000 has more than 5 digits"),
        (_CENTS, Decimal("1E+999999"), "has more than 5 digits"),
        (_CENTS, Decimal("1" * 5000), "has more than 5 digits"),
        (ExactDecimalType(20, 0), 10**18, "more than the 18 digits of SQLite"),
        (_NOTES, "a text", "a column of Note: 'a text' is of type str, not Note"),
        (_NOTES, Note(7), "text: 7 is of type int, not str"),  # type: ignore[arg-type]  # the point
        (_NOTES, Note("\ud800"), "text: .* has half of a surrogate pair"),
        (_NOTES, Note("", math.inf), "weight: inf is no number"),
    ],
)
def test_what_does_not_fit_is_refused(
    kind: "sa.types.TypeEngine[Any]", value: object, message: str
) -> None:
    engine = create_memory_engine()
    table = sa.Table("t", sa.MetaData(), sa.Column("held", kind))
    table.create(engine)

    with engine.begin() as connection:
        with pytest.raises(ColumnValueError, match=message) as refusal:
            connection.execute(sa.insert(table), {"held": value})
        with pytest.raises(ColumnValueError, match=message):
            connection.execute(sa.select(table).where(table.c.held == value))
        with pytest.raises((ColumnValueError, sa.exc.CompileError)):
            sa.select(sa.literal(value, kind)).compile(
                engine, compile_kwargs={"literal_binds": True}
            )

    assert isinstance(refusal.value, InfrastructureError)
    assert not refusal.value.retryable
    engine.dispose()


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (Decimal(0), 0),
        (Decimal("-0.00"), 0),
        (Decimal("0E+999999"), 0),
        (Decimal("0E-999999"), 0),
        (Decimal("1.500"), 150),
        (Decimal("-999.99"), -99999),
        (Decimal("9.9E+2"), 99000),
        (7, 700),
    ],
)
def test_whatever_is_exact_in_the_column_is_taken(value: Decimal, stored: int) -> None:
    with decimal.localcontext(prec=1):
        assert _bound(_CENTS, value) == stored
        exact = _bound(_CENTS, value, "postgresql")

    assert isinstance(exact, Decimal)
    assert exact * 100 == stored
    assert exact.as_tuple().exponent == -2


@pytest.mark.parametrize("dialect", ["postgresql", "mysql", "mariadb"])
def test_a_server_holds_more_digits_than_sqlite(dialect: str) -> None:
    most = 10**65 - 1

    assert _bound(ExactDecimalType(65, 0), most, dialect) == most


@pytest.mark.parametrize(
    ("dialect", "large", "tiny"),
    [
        ("sqlite", "900719925474099301", "1"),
        ("postgresql", "9.00719925474099301", "0.00000000000000001"),
        ("mysql", "9.00719925474099301", "0.00000000000000001"),
    ],
)
def test_a_literal_is_no_float(dialect: str, large: str, tiny: str) -> None:
    write = ExactDecimalType(18, 17).literal_processor(dialect_named(dialect))

    assert write(Decimal("9.00719925474099301")) == large
    assert write(Decimal("1E-17")) == tiny


@pytest.mark.parametrize(
    ("text", "weight", "message"),
    [
        ("a\0b", 0.0, "has a NUL, which JSONB does not hold"),
        ("", 1e16, "1e.16 would come back as another number"),
        ("", -1e300, "would come back as another number"),
    ],
)
def test_what_jsonb_would_change_is_refused_on_postgresql(
    text: str, weight: float, message: str
) -> None:
    with pytest.raises(ColumnValueError, match=message):
        _bound(_NOTES, Note(text, weight), "postgresql")

    for dialect in ("sqlite", "mysql"):
        assert isinstance(_bound(_NOTES, Note(text, weight), dialect), str)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({1: "a"}, "1 is a key that JSON does not have"),
        ({"a": Decimal(1)}, r"Decimal\('1'\) is nothing that JSON has"),
        ([b"a"], "b'a' is nothing that JSON has"),
        ("\udc00", "has half of a surrogate pair"),
        ({"\udc00": 1}, "has half of a surrogate pair"),
        ([math.nan], "nan would come back as another number"),
    ],
)
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_a_codec_by_hand_writes_what_json_has(written: object, message: str, dialect: str) -> None:
    codec = ValueCodec(kind=str, to_json=lambda _: written, from_json=str)

    with pytest.raises(ColumnValueError, match=message):
        _bound(ValueObjectType(codec), "a value", dialect)


def test_a_codec_by_hand_may_write_anything_that_json_has() -> None:
    written = {"ä": [1, 2.5, True, None, ("b",)]}
    codec = ValueCodec(kind=str, to_json=lambda _: written, from_json=str)

    assert _bound(ValueObjectType(codec), "", "sqlite") == '{"ä":[1,2.5,true,null,["b"]]}'
    assert _bound(ValueObjectType(codec), None, "sqlite") is None


@pytest.fixture(params=EVERY_DATABASE)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sa.Engine]:
    engine = engine_of(request.param, tmp_path)
    yield engine
    engine.dispose()


@pytest.mark.parametrize(
    ("kind", "raw", "message"),
    [
        (EnumValueType(Status), "'Paid'", "a column of Status: 'Paid' is stored, and no value"),
        (_NOTES, """'{"text": 7}'""", "a column of Note: what is stored is none: text: 7 is"),
        (_NOTES, "'[]'", r"what is stored is none: \[\] is of type list, not Note"),
    ],
)
def test_what_is_stored_and_does_not_belong_there_is_named(
    engine: sa.Engine, kind: "sa.types.TypeEngine[Any]", raw: str, message: str
) -> None:
    with column_of(kind, engine) as column:
        column.store(raw)

        with pytest.raises(ColumnValueError, match=message):
            column.select()


def test_what_is_no_json_is_named() -> None:
    with column_of(_NOTES, create_memory_engine()) as column:
        column.store("'{'")

        with pytest.raises(ColumnValueError, match="a column of Note: what is stored is none"):
            column.select()


def test_a_float_that_somebody_has_stored_is_named_instead_of_passed_on() -> None:
    with column_of(_CENTS, create_memory_engine()) as column:
        column.store("1.5")

        with pytest.raises(ColumnValueError, match=r"1\.5 was read, a float"):
            column.select()


def test_an_enum_may_have_an_answer_for_values_that_it_does_not_know() -> None:
    with column_of(EnumValueType(Lenient), create_memory_engine()) as column:
        column.store("'of a later version'")

        assert column.select() == [Lenient.UNKNOWN]


_PRICE: sa.Column[Decimal] = sa.Column("price", _CENTS)
_FACTORS: dict[str, Callable[[], object]] = {
    "a decimal": lambda: _PRICE * Decimal("1.19"),
    "a decimal before": lambda: Decimal("1.19") * _PRICE,
    "a float": lambda: _PRICE * 1.5,
    "a boolean": lambda: _PRICE * True,
    "another decimal column": lambda: _PRICE * sa.Column("rate", ExactDecimalType(5, 2)),
    "a plain numeric column": lambda: _PRICE * sa.Column("rate", sa.Numeric(5, 2)),
    "a division": lambda: _PRICE / 2,
    "a division of something": lambda: 2 / _PRICE,
    "a whole division": lambda: _PRICE // 2,
    "a remainder": lambda: _PRICE % 2,
}


@pytest.mark.parametrize("name", _FACTORS)
def test_what_would_have_another_scale_is_not_computed_in_sql(name: str) -> None:
    with pytest.raises(ColumnValueError, match="only whole numbers multiply"):
        _FACTORS[name]()


class _Base(orm.DeclarativeBase):
    pass


class _Product(_Base):
    __tablename__ = "product"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    price: orm.Mapped[Decimal] = orm.mapped_column(_CENTS)
    cost: orm.Mapped[Decimal] = orm.mapped_column(ExactDecimalType(9, 2))
    rate: orm.Mapped[Decimal] = orm.mapped_column(ExactDecimalType(9, 3))


_OF_ANOTHER_SCALE: dict[str, Callable[[], object]] = {
    "more than a whole number": lambda: _PRICE + sa.Column("pieces", sa.Integer),
    "less than an attribute": lambda: _Product.price < _Product.id,
    "a plain numeric column": lambda: _PRICE - sa.Column("rate", sa.Numeric(5, 2)),
    "a literal": lambda: _PRICE + sa.literal(5),
    "another scale": lambda: _Product.price - _Product.rate,
    "between": lambda: _PRICE.between(1, sa.Column("most", sa.BigInteger)),
}


@pytest.mark.parametrize("name", _OF_ANOTHER_SCALE)
def test_numbers_of_another_scale_are_neither_added_nor_compared_in_sql(name: str) -> None:
    with pytest.raises(ColumnValueError, match=r"in SQL with .*, which is "):
        _OF_ANOTHER_SCALE[name]()


def test_numbers_of_the_same_scale_are_added_and_compared_in_sql() -> None:
    margin = _Product.price - _Product.cost + sa.func.sum(_Product.cost * _Product.id) + 1
    alike = margin > _Product.cost, _Product.price == sa.bindparam("price"), _PRICE.is_(None)

    assert [one.type.python_type for one in alike] == [bool, bool, bool]


_ID: sa.Column[int] = sa.Column("id", sa.Integer)
_COST: sa.Column[Decimal] = sa.Column("cost", ExactDecimalType(9, 2))
_BEHIND_ANOTHER_SCALE: dict[str, Callable[[], "sa.ColumnElement[Any]"]] = {
    "added to a whole number": lambda: _ID + _PRICE,
    "in a sum of three": lambda: _ID + _PRICE + _COST,
    "in a sum on the right": lambda: _ID + (_PRICE + _COST),
    "added to a literal": lambda: sa.literal(5) + _PRICE,
    "added to a count": lambda: sa.func.count() + _PRICE,
    "more than a whole number": lambda: _ID < _PRICE,
    "a bound of a whole number": lambda: _ID.between(1, _PRICE),
    "among others": lambda: _ID.in_([_PRICE, _COST]),
    "a divisor": lambda: _ID / _PRICE,
    "of a float": lambda: sa.Column("weight", sa.Float) * _PRICE,
    "of a plain numeric column": lambda: sa.Column("rate", sa.Numeric(5, 2)) * _PRICE,
}


@pytest.mark.parametrize("name", _BEHIND_ANOTHER_SCALE)
def test_a_decimal_behind_a_number_of_another_scale_is_refused_when_its_sql_is_made(
    name: str,
) -> None:
    with (
        create_memory_engine().connect() as connection,
        pytest.raises(ColumnValueError, match=r"in SQL with .*, which is "),
    ):
        connection.execute(sa.select(_BEHIND_ANOTHER_SCALE[name]()))


@pytest.mark.parametrize(
    "other", [ExactDecimalType(9, 4), sa.Numeric(5, 2), sa.Float(), sa.Integer()]
)
def test_what_has_another_scale_is_neither_compared_nor_added_in_sql(
    other: "sa.types.TypeEngine[Any]",
) -> None:
    price, column = _PRICE, sa.Column("other", other)

    with pytest.raises(ColumnValueError, match="gt in SQL with other, which is "):
        price > column  # noqa: B015  # it raises
    with pytest.raises(ColumnValueError, match="add in SQL with other, which is "):
        price + column
    assert str(price + sa.Column("same", ExactDecimalType(9, 2))) == "price + same"
    least: sa.BindParameter[Any] = sa.bindparam("least")
    assert str(price.between(least, 5)) == "price BETWEEN :least AND :price_1"


@attrs.define
class _Mutable:
    text: str


class _ByIdentity:
    pass


class _Everything(enum.Flag):
    ONE = 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EnumValueType(_A_CLASS), "kind = <class str>: give a class derived from Enum"),
        (lambda: EnumValueType(_Everything), "a combination of flags is no member"),
        (lambda: EnumValueType(_AN_ENUM("Empty", {})), "has no members"),
        (lambda: EnumValueType(_AN_ENUM("Mixed", {"A": 1, "B": "b"})), "all text, or all int"),
        (lambda: EnumValueType(_AN_ENUM("Bools", {"A": True})), "all text, or all integers"),
        (lambda: EnumValueType(_AN_ENUM("Long", {"A": "a" * 51})), "fit into length = 50"),
        (lambda: EnumValueType(_AN_ENUM("Large", {"A": 2**31})), "does not fit into 32 bits"),
        (lambda: EnumValueType(_AN_ENUM("Alike", {"A": "a", "B": "a "})), "'a' equals 'a '"),
        (lambda: EnumValueType(Status, length=0), "length = 0: at least 1"),
        (lambda: ExactDecimalType(0, 0), "precision = 0: at least 1"),
        (lambda: ExactDecimalType(66, 0), "precision = 66: at most 65"),
        (lambda: ExactDecimalType(5, 6), "scale = 6: 0 to 5"),
        (lambda: ExactDecimalType(65, 31), "scale = 31: 0 to 30"),
        (lambda: ExactDecimalType(5, -1), "scale = -1: 0 to 5"),
        (lambda: ExactDecimalType(5.0, 2), "precision = 5.0: give an int"),  # type: ignore[arg-type]  # the point
        (lambda: ValueObjectType(Note), "codec = <class Note>: give a ValueCodec"),  # type: ignore[arg-type]  # the point
        (lambda: ValueObjectType(_VALUES.codec(_Mutable)), "a _Mutable can be changed in place"),
        (lambda: ValueObjectType(_VALUES.codec(list[Note])), r"list\[.*\] can be changed in"),
        (
            lambda: ValueObjectType(_VALUES.codec(tuple[_Mutable, ...])),
            "a _Mutable can be changed in place",
        ),
        (
            lambda: ValueObjectType(ValueCodec(kind=_ByIdentity, to_json=str, from_json=_by_id)),
            "a _ByIdentity is not equal by value",
        ),
        (lambda: _VALUES.codec(_ByIdentity), "_ByIdentity'>: .* is no type that events may hold"),
        (lambda: _VALUES.codec(tuple[_ByIdentity, ...]), r"\]\[\]: .* is no type that events"),
    ],
)
def test_a_type_that_cannot_be_is_refused_where_it_is_made(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def _by_id(_: object) -> _ByIdentity:
    return _ByIdentity()


def test_an_optional_value_is_a_value_or_nothing() -> None:
    kind: Any = Note | None

    assert ValueObjectType(_VALUES.codec(kind)).codec.kind == kind


class Base(orm.DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    status: orm.Mapped[Status] = orm.mapped_column(EnumValueType(Status))
    note: orm.Mapped[Note | None] = orm.mapped_column(_NOTES)
    price: orm.Mapped[Decimal] = orm.mapped_column(_CENTS, server_default=sa.literal(1, _CENTS))


@pytest.fixture
def session() -> Iterator[orm.Session]:
    engine = create_memory_engine()
    Base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        yield session
    engine.dispose()


def test_an_attribute_that_is_assigned_an_equal_value_has_not_changed(
    session: orm.Session,
) -> None:
    session.add(Order(id=1, status=Status.OPEN, note=Note("a"), price=Decimal("1.5")))
    session.commit()
    order = session.get_one(Order, 1)
    assert (order.note, order.price) == (Note("a"), Decimal("1.5"))
    written: list[str] = []
    sa.event.listen(
        session.connection(),
        "before_cursor_execute",
        lambda *arguments: written.append(arguments[2]),
    )

    order.note, order.price = Note("a"), Decimal("1.500")
    session.flush()
    assert written == []
    order.note = Note("b")
    session.flush()

    assert [text.partition(" SET ")[2].partition("=")[0] for text in written] == ["note"]


def test_a_default_of_the_server_is_written_as_it_is_stored(session: orm.Session) -> None:
    session.execute(sa.text("INSERT INTO orders (id, status) VALUES (1, 'paid')"))

    assert session.get_one(Order, 1).price == 1


def test_a_refusal_is_no_failure_of_the_database(session: orm.Session) -> None:
    session.add(Order(id=1, status=Status.OPEN, price=Decimal("0.001")))

    with pytest.raises(ColumnValueError, match=r"0\.001 has more than 2 places"), translated():
        session.commit()


_ALL: dict[str, Callable[[], "sa.types.TypeEngine[Any]"]] = {
    "text": lambda: EnumValueType(Status, length=7),
    "number": lambda: EnumValueType(_AN_ENUM("Level", {"LOW": 1})),
    "instant": UtcInstantType,
    "decimal": lambda: ExactDecimalType(12, 2),
    "value": lambda: ValueObjectType(_VALUES.codec(Note)),
}


@pytest.mark.parametrize("name", _ALL)
@pytest.mark.parametrize("dialect", ["postgresql", "mysql", "mariadb", "sqlite"])
def test_what_alembic_writes_down_creates_the_same_column(name: str, dialect: str) -> None:
    """It renders a type of ours as its module and what ``repr`` says."""
    kind, chosen = _ALL[name](), dialect_named(dialect)
    module = __import__(type(kind).__module__, fromlist=["*"])

    rendered = eval(f"module.{kind!r}", {"module": module})

    assert rendered.compile(dialect=chosen) == kind.compile(dialect=chosen)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("text", ["TEXT", "VARCHAR(7) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "TEXT"]),
        ("number", ["INTEGER", "INTEGER", "INTEGER"]),
        ("instant", ["TIMESTAMP WITH TIME ZONE", "DATETIME(6)", "DATETIME"]),
        ("decimal", ["NUMERIC(12, 2)", "NUMERIC(12, 2)", "BIGINT"]),
        ("value", ["JSONB", "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "TEXT"]),
    ],
)
def test_each_database_has_the_type_that_keeps_the_value(name: str, expected: list[str]) -> None:
    dialects = ["postgresql", "mysql", "sqlite"]

    assert [_ALL[name]().compile(dialect=dialect_named(each)) for each in dialects] == expected


@pytest.mark.parametrize("name", ["text", "instant", "decimal"])
def test_statements_with_equal_types_share_their_cache(name: str) -> None:
    one, other = (sa.select(sa.column("held", _ALL[name]())) for _ in range(2))

    assert one._generate_cache_key() == other._generate_cache_key() != None  # noqa: E711


def test_a_statement_with_a_value_object_is_cached() -> None:
    statement = sa.select(sa.column("held", _NOTES))

    assert statement._generate_cache_key() is not None


@pytest.fixture
def in_tokyo() -> Iterator[ColumnOfType[dt.datetime]]:
    engine = engine_of("postgresql", Path())
    sa.event.listen(engine, "connect", _set_zone)
    with column_of(UtcInstantType(), engine) as column:
        yield column
    engine.dispose()


def _set_zone(connection: Any, _: object) -> None:  # noqa: ANN401  # a connection of psycopg
    connection.execute("SET TIME ZONE 'Asia/Tokyo'")
    connection.commit()


@pytest.mark.service("postgresql")
def test_an_instant_is_the_same_in_a_session_of_another_zone(
    in_tokyo: ColumnOfType[dt.datetime],
) -> None:
    moment = dt.datetime(2026, 1, 2, 23, 59, 59, 999_999, tzinfo=dt.UTC)

    back = in_tokyo.round_trip(moment)

    assert (back, back.tzinfo) == (moment, dt.UTC)
