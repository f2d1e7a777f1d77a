"""Scrolling through a result: each part begins behind the last row of the one before.

A position is the sort keys of a row, so rows that come or go elsewhere move nothing: every row
that is there from the first part to the last is met once. A part far behind takes as long as the
first one. Known as keyset pagination, or the seek method (Winand, Use the Index, Luke).
"""

import datetime as dt
import enum
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Generic, TypeVar
from uuid import UUID

import attrs

RowT = TypeVar("RowT")
OtherT = TypeVar("OtherT")

ScrollValue = str | int | bool | Decimal | dt.datetime | dt.date | UUID | bytes | None

_KINDS = (str, int, Decimal, dt.date, UUID, bytes, type(None))


def _values(values: Iterable[ScrollValue]) -> tuple[ScrollValue, ...]:
    return tuple(values)


def _can_be_found_again(_: object, attribute: "attrs.Attribute[object]", value: object) -> None:
    if isinstance(value, enum.Enum) or not isinstance(value, _KINDS):
        raise TypeError(
            f"{attribute.name}: {value!r}, {type(value).__qualname__}: sort by text, whole "
            "numbers, Decimals, dates, instants, UUIDs or bytes, which compare exactly"
        )
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError(f"{attribute.name}: {value!r}: no number to compare with")


@attrs.frozen(kw_only=True)
class ScrollPosition:
    """Just behind one row of an ordered result.

    Attributes:
        order: By what the result is sorted; a position is of use in this order only.
        values: The sort keys of that row. No floats: some databases round them on the way.

    Raises:
        TypeError: A value is of a type that does not compare exactly.
        ValueError: A Decimal is no number.
    """

    order: str = attrs.field(validator=attrs.validators.instance_of(str))
    values: tuple[ScrollValue, ...] = attrs.field(
        converter=_values, validator=attrs.validators.deep_iterable(_can_be_found_again)
    )


@attrs.frozen(kw_only=True)
class ScrollResult(Generic[RowT]):
    """One part of a result.

    Attributes:
        rows: Its rows in order; empty behind the end.
        position: Where the next part begins, also at the end, where rows may be added later;
            ``None`` where nothing was found from the start.
        has_next: Whether there were rows behind it.
    """

    rows: tuple[RowT, ...]
    position: ScrollPosition | None
    has_next: bool

    def map(self, change: Callable[[RowT], OtherT]) -> "ScrollResult[OtherT]":
        """Return the same part with other rows."""
        return ScrollResult(
            rows=tuple(change(row) for row in self.rows),
            position=self.position,
            has_next=self.has_next,
        )
