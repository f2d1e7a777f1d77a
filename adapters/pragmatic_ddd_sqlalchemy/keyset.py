"""A total order of a result, and the condition that a row comes behind another one.

    newest_first = Keyset([orders.c.placed_at.desc(), orders.c.id])

    uniform, without NULLs    a >= :a AND (a, b) > (:a, :b)
    mixed, or with NULLs      a >= :a AND (a > :a OR a = :a AND (b < :b OR ...))

The first comparison is implied by the rest. It is there for databases that find no range of an
index in the rest: MariaDB in the first form, PostgreSQL in the second.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import sqlalchemy as sa

from pragmatic_ddd.application.arguments import check_type
from pragmatic_ddd.errors import ScrollPositionError
from pragmatic_ddd.ports import ScrollPosition, ScrollValue
from pragmatic_ddd_sqlalchemy.sort_key import Condition, SortKey


def _sort_keys(keys: Iterable[sa.SQLColumnExpression[Any]]) -> tuple[SortKey, ...]:
    check_type("keys", keys, Iterable)
    return tuple(SortKey.of(key) for key in keys)


@attrs.frozen(eq=False)
class Keyset:
    """Sort keys, of which no two rows have the same.

    Attributes:
        keys: Columns or expressions, as ``order_by`` takes them: ``.desc()``, ``.nulls_last()``.
            Among them are all columns of a primary key, or of a UNIQUE constraint that are
            NOT NULL; the last one as a rule, the tie-breaker.
        is_unique: Your word that no two rows have the same keys, where that does not show: in a
            view, or in a query that groups. Rows of a join may have a primary key in common.

    Raises:
        TypeError: One is no column, or one of floats.
        ValueError: One may be NULL, and does not say where NULLs stand; or two rows might have
            the same.
    """

    keys: tuple[SortKey, ...] = attrs.field(converter=_sort_keys)
    is_unique: bool = attrs.field(default=False, kw_only=True)
    _order: str = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if not self.keys:
            raise ValueError("keys = []: at least one")
        if not self.is_unique and not _identify_a_row(self.keys):
            named = ", ".join(str(key.column) for key in self.keys)
            raise ValueError(
                f"keys: two rows may have the same {named}: add the primary key as the last one, "
                "or say is_unique=True if you know that it is"
            )

    @_order.default
    def _digest(self) -> str:
        text = ", ".join(key.text for key in self.keys)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def order_by(self) -> list[sa.ColumnElement[Any]]:
        """Return what ``order_by`` takes."""
        return [element for key in self.keys for element in key.order_by()]

    def columns(self) -> list[sa.Label[Any]]:
        """Return what to select beside a row to know its position."""
        return [key.column.label(f"_key_{number}") for number, key in enumerate(self.keys)]

    def check_exact(self, dialect: sa.Dialect) -> None:
        """Refuse keys that a database gives back rounded.

        Raises:
            TypeError: One is a ``Numeric`` on SQLite.
        """
        for key in self.keys:
            key.check_exact(dialect)

    def position(self, values: Sequence[ScrollValue]) -> ScrollPosition:
        """Return the position behind the row that has these keys.

        Raises:
            TypeError: A value does not compare exactly.
            ValueError: One is NULL, against what its column said.
        """
        for key, value in zip(self.keys, values, strict=True):
            if value is None and key.nulls_first is None:
                raise ValueError(
                    f"{key.column} is NULL, as in an outer join: say .nulls_first() or "
                    ".nulls_last()"
                )
        return ScrollPosition(order=self._order, values=tuple(values))

    def behind(self, position: ScrollPosition) -> Condition:
        """Return the condition that a row comes behind a position.

        Raises:
            ScrollPositionError: It is one of another order.
            TypeError: It is no position.
        """
        check_type("position", position, ScrollPosition)
        values = position.values
        if position.order != self._order or len(values) != len(self.keys):
            named = ", ".join(str(key.column) for key in self.keys)
            raise ScrollPositionError(f"it is of another order than by {named}")
        first = self.keys[0]
        if len(self.keys) == 1:
            return first.behind(values[0])
        behind = self._row_behind(values) if self._is_uniform else self._one_behind(values)
        if first.nulls_first is not None:
            return behind
        return sa.and_(first.not_before(values[0]), behind)

    @property
    def _is_uniform(self) -> bool:
        directions = {key.is_descending for key in self.keys}
        return len(directions) == 1 and all(key.nulls_first is None for key in self.keys)

    def _row_behind(self, values: Sequence[ScrollValue]) -> Condition:
        row = sa.tuple_(*(key.column for key in self.keys))
        found = sa.tuple_(
            *(key.literal(value) for key, value in zip(self.keys, values, strict=True))
        )
        return row < found if self.keys[0].is_descending else row > found

    def _one_behind(self, values: Sequence[ScrollValue]) -> Condition:
        """Compare key by key: it is the first one that differs that counts."""
        *others, last = zip(self.keys, values, strict=True)
        behind = last[0].behind(last[1])
        for key, value in reversed(others):
            behind = sa.or_(key.behind(value), sa.and_(key.at(value), behind))
        return behind


def _identify_a_row(keys: Sequence[SortKey]) -> bool:
    columns = [
        key.column for key in keys if isinstance(key.column, sa.Column) and key.nulls_first is None
    ]
    return any(
        {column.key for column in unique} <= {one.key for one in columns if one.table is table}
        for table in (column.table for column in columns)
        for unique in _unique_columns(table)
    )


def _unique_columns(table: Any) -> list[list[sa.Column[Any]]]:  # noqa: ANN401  # whatever is in FROM
    constraints = (
        constraint.columns
        for constraint in getattr(table, "constraints", ())
        if isinstance(constraint, sa.UniqueConstraint)
    )
    indexes = (index.columns for index in getattr(table, "indexes", ()) if index.unique)
    unique = (list(columns) for columns in (table.primary_key, *constraints, *indexes))
    return [columns for columns in unique if columns]
