"""What a type checker must see of column types and ids; nothing executes it."""

import datetime as dt
import enum
from decimal import Decimal
from typing import assert_type

import attrs
import sqlalchemy as sa

from pragmatic_ddd.application.identifiers import IdGeneratorRegistry, TextIdGenerator
from pragmatic_ddd.ports import IIdGenerator
from pragmatic_ddd_orjson import ValueCodecs
from pragmatic_ddd_sqlalchemy import (
    EnumValueType,
    ExactDecimalType,
    UtcInstantType,
    ValueObjectType,
)


class Status(enum.Enum):
    OPEN = "open"


@attrs.frozen
class Money:
    cents: int


def a_column_has_the_type_of_its_values(values: ValueCodecs) -> None:
    status, paid_at = sa.column("s", EnumValueType(Status)), sa.column("p", UtcInstantType())
    assert_type(status, sa.ColumnClause[Status])
    assert_type(paid_at, sa.ColumnClause[dt.datetime])
    assert_type(sa.column("price", ExactDecimalType(12, 2)), sa.ColumnClause[Decimal])
    assert_type(ValueObjectType(values.codec(Money)), ValueObjectType[Money])
    prices = ValueObjectType(values.codec(tuple[Money, ...]))
    assert_type(sa.column("prices", prices), sa.ColumnClause[tuple[Money, ...]])
    EnumValueType(Money)  # type: ignore[type-var]


def a_generator_has_the_type_of_its_ids(ids: IdGeneratorRegistry) -> None:
    numbers: IIdGenerator[int] = ids.generator("shop.order")
    assert_type(numbers.next_id(), int)
    texts: IIdGenerator[str] = TextIdGenerator(numbers=numbers)
    assert_type(texts.next_id(), str)
    TextIdGenerator(numbers=texts)  # type: ignore[arg-type]
