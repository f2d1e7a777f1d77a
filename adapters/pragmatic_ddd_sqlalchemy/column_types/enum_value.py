"""Enums by their value: what the code calls a member may change, what is stored stays.

    sa.Column("status", EnumValueType(OrderStatus), nullable=False)

SQLAlchemy's own ``Enum`` stores names, in a type of the database that each new member changes.
"""

import enum
import reprlib
from typing import Any, TypeVar

import sqlalchemy as sa

from pragmatic_ddd.application.arguments import check_class, check_count
from pragmatic_ddd_sqlalchemy.errors import ColumnValueError
from pragmatic_ddd_sqlalchemy.table import exact_text

EnumT = TypeVar("EnumT", bound=enum.Enum)

_INTEGERS = range(-(2**31), 2**31)


class EnumValueType(sa.types.TypeDecorator[EnumT]):
    """Holds the members of one enum by their values: text, or integers of 32 bits.

    Text sorts as text and is compared exactly. The enum's ``_missing_`` is asked for values that
    it does not have.

    Args:
        kind: The enum.
        length: Room for each value, in characters; leave some for members to come.

    Raises:
        TypeError: It is no enum, or a flag, whose combinations have no member; or the values
            are neither all text nor all integers.
        ValueError: It has no members, a value does not fit, or two differ in no more than spaces at
            their ends, which MySQL and MariaDB do not see.
    """

    impl = sa.String
    cache_ok = True

    def __init__(self, kind: type[EnumT], *, length: int = 50) -> None:
        check_class("kind", kind, enum.Enum)
        check_count("length", length)
        super().__init__(length)
        self.kind = kind
        self.length = length
        self._has_numbers = _has_numbers(kind, length)

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        return sa.Integer() if self._has_numbers else exact_text(self.length)

    def process_bind_param(self, value: EnumT | None, dialect: sa.Dialect) -> Any:  # noqa: ANN401  # text or a number
        if value is not None and not isinstance(value, self.kind):
            raise self._refusal(f"{reprlib.repr(value)} is no member")
        return None if value is None else value.value

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> EnumT | None:  # noqa: ANN401  # as above
        try:
            return None if value is None else self.kind(value)
        except ValueError as error:
            raise self._refusal(f"{value!r} is stored, and no value of it") from error

    def __repr__(self) -> str:
        """Say what is stored, as Alembic writes it down: a migration needs no enum of today."""
        return "sa.Integer()" if self._has_numbers else f"exact_text({self.length})"

    def _refusal(self, reason: str) -> ColumnValueError:
        return ColumnValueError(self.kind.__qualname__, reason)


def _has_numbers(kind: type[enum.Enum], length: int) -> bool:
    if issubclass(kind, enum.Flag):
        raise TypeError(f"kind = {kind!r}: a combination of flags is no member; store a number")
    values = [member.value for member in kind]
    kinds = {type(value) for value in values}
    if not values:
        raise ValueError(f"kind = {kind!r}: it has no members")
    if kinds not in ({str}, {int}):
        raise TypeError(f"kind = {kind!r}: its values must be all text, or all integers")
    if kinds == {int}:
        unfit, room = [value for value in values if value not in _INTEGERS], "32 bits"
    else:
        unfit, room = [value for value in values if len(value) > length], f"length = {length}"
    if unfit:
        raise ValueError(f"kind = {kind!r}: {unfit[0]!r} does not fit into {room}")
    if kinds == {str}:
        _check_told_apart(kind, values)
    return kinds == {int}


def _check_told_apart(kind: type[enum.Enum], values: list[str]) -> None:
    seen: dict[str, str] = {}
    for value in values:
        other = seen.setdefault(value.rstrip(" "), value)
        if other != value:
            raise ValueError(f"kind = {kind!r}: to MySQL and MariaDB {other!r} equals {value!r}")
