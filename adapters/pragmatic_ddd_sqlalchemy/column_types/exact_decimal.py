"""Decimals without a float on the way, on SQLite, too.

    sa.Column("price", ExactDecimalType(12, 2))

SQLAlchemy's ``Numeric`` is exact on databases that have such a type. SQLite has none and makes
floats of them; here it gets integers, 1250 for 12.50, which compare, sort and add up exactly.
"""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.sql import operators

from pragmatic_ddd.application.arguments import check_count, check_type
from pragmatic_ddd_sqlalchemy.errors import ColumnValueError

_LARGEST_PRECISION = 65  # of MySQL; PostgreSQL has more
_LARGEST_SCALE = 30  # of MySQL 8, as above
_SQLITE_DIGITS = 18  # that surely fit into its integers
_SCALED_ANEW = frozenset({operators.mul, operators.truediv, operators.floordiv, operators.mod})
_OF_CONDITIONS = frozenset({operators.and_, operators.or_})


class _Comparator(sa.types.TypeDecorator.Comparator[Decimal], sa.Numeric.Comparator[Decimal]):
    """Refuses what has another scale than the column, and on SQLite would be wrong by far."""

    def operate(self, op: operators.OperatorType, *other: Any, **kwargs: Any) -> Any:  # noqa: ANN401  # as SQLAlchemy has it
        elements = [_element(one) for one in other]
        if op in _SCALED_ANEW and not all(op is operators.mul and _is_whole(e) for e in elements):
            raise ColumnValueError(
                "exact decimals",
                f"{op.__name__} in SQL has another scale: only whole numbers multiply; "
                "compute in Python, or on sa.cast(column, sa.Numeric), which SQLite cannot",
            )
        if op not in _SCALED_ANEW:
            scale = cast("ExactDecimalType", self.type).scale  # no other type has this comparator
            for each in elements:
                _refuse_other_scale(op, each, scale)
        return super().operate(op, *other, **kwargs)

    reverse_operate = operate


class ExactDecimalType(sa.types.TypeDecorator[Decimal]):
    """Holds decimals of up to ``scale`` places; what has more is refused instead of rounded.

    A value comes back equal, with all its places: ``Decimal("12.5")`` as ``Decimal("12.50")``.
    Whole numbers are taken, too. SQLite holds up to 18 digits, and raw SQL sees them there
    without the point; sums are exact, averages are for Python.

    Args:
        precision: Digits in all, 1 to 65.
        scale: Digits behind the point, 0 to 30, at most ``precision``.

    Raises:
        TypeError: One is no whole number.
        ValueError: They are beyond these limits.
    """

    impl = sa.Numeric
    cache_ok = True
    comparator_factory = _Comparator

    def __init__(self, precision: int, scale: int) -> None:
        check_count("precision", precision)
        check_type("scale", scale, int)
        if precision > _LARGEST_PRECISION:
            raise ValueError(f"precision = {precision}: at most {_LARGEST_PRECISION}")
        if not 0 <= scale <= min(precision, _LARGEST_SCALE):
            raise ValueError(f"scale = {scale}: 0 to {min(precision, _LARGEST_SCALE)}")
        super().__init__(precision, scale)
        self.precision = precision
        self.scale = scale

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        return sa.BigInteger() if dialect.name == "sqlite" else self.impl_instance

    def process_bind_param(
        self, value: Decimal | int | None, dialect: sa.Dialect
    ) -> Decimal | int | None:
        if value is None:
            return None
        digits = self._scaled(value)
        if dialect.name != "sqlite":
            return self._with_point(digits)
        if abs(digits) >= 10**_SQLITE_DIGITS:
            raise self._refusal(f"{value} has more than the {_SQLITE_DIGITS} digits of SQLite")
        return digits

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Decimal | None:  # noqa: ANN401  # what the driver has read
        if value is None:
            return None
        if isinstance(value, int) and dialect.name == "sqlite":
            return self._with_point(value)
        if isinstance(value, float):
            raise self._refusal(f"{value!r} was read, a float, which is not exact")
        return Decimal(value)

    def literal_processor(self, dialect: sa.Dialect) -> Callable[[Any], str]:
        # An exponent, as str() has it for very small ones, would make a float of it; and so
        # would ":f" of SQLite's integer.
        form = "d" if dialect.name == "sqlite" else "f"
        return lambda value: format(self.process_bind_param(value, dialect), form)

    def coerce_compared_value(
        self,
        op: operators.OperatorType | None,
        value: Any,  # noqa: ANN401  # whatever stands on the other side
    ) -> sa.types.TypeEngine[Any]:
        """Let a whole number be a factor: it is none of the column's values."""
        return sa.BigInteger() if op in _SCALED_ANEW else self

    def __repr__(self) -> str:
        """Say what a migration needs."""
        return f"ExactDecimalType({self.precision}, {self.scale})"

    def _scaled(self, value: Decimal | int) -> int:
        """Return the value without its point: 1250 for 12.50. No context of Decimal rounds it."""
        if isinstance(value, bool) or not isinstance(value, Decimal | int):
            raise self._refusal(f"{value!r:.60} is of type {type(value).__name__}, not Decimal")
        exact = Decimal(value)
        if not exact.is_finite():
            raise self._refusal(f"{exact} is no number")
        sign, digits, exponent = exact.as_tuple()
        significant = "".join(map(str, digits)).lstrip("0")
        if not significant:
            return 0
        shift = int(exponent) + self.scale
        if len(significant) + shift > self.precision:
            raise self._refusal(f"{value} has more than {self.precision} digits")
        end = len(significant) + min(0, shift)
        if significant[max(0, end) :].strip("0"):
            raise self._refusal(f"{value} has more than {self.scale} places: round it before")
        scaled = int((significant[: max(0, end)] or "0") + "0" * shift)
        return -scaled if sign else scaled

    def _with_point(self, digits: int) -> Decimal:
        return Decimal((digits < 0, tuple(map(int, str(abs(digits)))), -self.scale))

    def _refusal(self, reason: str) -> ColumnValueError:
        return ColumnValueError(f"decimals ({self.precision}, {self.scale})", reason)


def refuse_mixed_scales(
    op: operators.OperatorType | None, operands: "Iterable[sa.ColumnElement[Any]]"
) -> None:
    """Refuse to compute or compare exact decimals with numbers of another scale, in any order.

    Raises:
        ColumnValueError: On SQLite the result would be wrong by far.
    """
    numbers = [one for one in operands if _is_number(one.type)]
    scales = [one.type.scale for one in numbers if isinstance(one.type, ExactDecimalType)]
    if op is None or not scales or op in _OF_CONDITIONS:
        return
    if op is operators.mul and sum(not _is_whole(one) for one in numbers) == 1:
        return
    for one in numbers:
        _refuse_other_scale(op, one, scales[0])


def _element(other: object) -> object:
    """Return what stands for an attribute of a mapped class in SQL, or what was given."""
    is_attribute = isinstance(other, sa.SQLColumnExpression)
    return getattr(other, "expression", other) if is_attribute else other


def _is_number(kind: object) -> bool:
    # Float is a Numeric in SQLAlchemy 2.0, and none in 2.1.
    return isinstance(kind, ExactDecimalType | sa.Numeric | sa.Float | sa.Integer)


def _is_whole(factor: object) -> bool:
    if isinstance(factor, sa.ColumnElement):
        return isinstance(factor.type, sa.Integer)
    return isinstance(factor, int) and not isinstance(factor, bool)


def _refuse_other_scale(op: operators.OperatorType, other: object, scale: int) -> None:
    kind = other.type if isinstance(other, sa.ColumnElement) else None
    if not _is_number(kind):
        return
    if not isinstance(kind, ExactDecimalType) or kind.scale != scale:
        raise ColumnValueError(
            "exact decimals",
            f"{op.__name__} in SQL with {other}, which is {kind!r}: only columns of the same "
            "scale compare and add up; compute in Python",
        )
