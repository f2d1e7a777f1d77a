"""One of the columns that a result is sorted by: which rows come behind a value of it."""

from collections.abc import Iterator
from typing import Any, Self

import attrs
import sqlalchemy as sa
from sqlalchemy.sql import operators

from pragmatic_ddd.application.arguments import check_type
from pragmatic_ddd.ports import ScrollValue

Condition = sa.ColumnElement[bool]

_NULLS = {operators.nulls_first_op: True, operators.nulls_last_op: False}
_DIRECTIONS = {operators.desc_op: True, operators.asc_op: False}
_ROUNDED = (
    "keys: {} is {}, which come back rounded, so that rows would be missed or met twice: sort by "
    "whole numbers, or by an ExactDecimalType"
)


@attrs.frozen(eq=False, kw_only=True)
class SortKey:
    """A column or an expression, its direction, and where its NULLs stand.

    Attributes:
        column: What is compared.
        is_descending: Whether the greatest value comes first.
        nulls_first: Where NULLs stand; ``None`` where there are none.
    """

    column: sa.ColumnElement[Any]  # of whatever type
    is_descending: bool = False
    nulls_first: bool | None = None

    @classmethod
    def of(cls, expression: sa.SQLColumnExpression[Any]) -> Self:
        """Read what ``order_by`` would take, such as ``column.desc().nulls_last()``.

        Raises:
            TypeError: It is no column, or one of floats, which come back rounded.
            ValueError: It may be NULL, and does not say where NULLs stand.
        """
        # Any: what was given is checked below; an attribute that is mapped has its column inside.
        element: Any = getattr(expression, "expression", expression)
        is_descending, nulls_first = False, None
        while isinstance(element, sa.UnaryExpression) and element.modifier is not None:
            is_descending = _DIRECTIONS.get(element.modifier, is_descending)
            nulls_first = _NULLS.get(element.modifier, nulls_first)
            element = element.element
        check_type("keys", element, sa.ColumnElement)
        if isinstance(element.type, sa.Float):
            raise TypeError(_ROUNDED.format(element, "of floats"))
        if nulls_first is None and not (isinstance(element, sa.Column) and not element.nullable):
            raise ValueError(
                f"keys: {element} may be NULL: say .nulls_first() or .nulls_last(), or sort by a "
                "column that is NOT NULL"
            )
        return cls(column=element, is_descending=is_descending, nulls_first=nulls_first)

    @property
    def text(self) -> str:
        """What it is, in words that are the same in each process."""
        compiled = self.column.compile()
        nulls = {None: "", True: " nulls first", False: " nulls last"}[self.nulls_first]
        direction = "desc" if self.is_descending else "asc"
        return f"{compiled} {sorted(compiled.params.items())} {direction}{nulls}"

    def check_exact(self, dialect: sa.Dialect) -> None:
        """Refuse what a database gives back rounded, but compares as it is.

        Raises:
            TypeError: It is a ``Numeric`` on SQLite, which has only floats for them.
        """
        kind = self.column.type.dialect_impl(dialect)
        if dialect.name == "sqlite" and isinstance(kind, sa.Numeric):
            raise TypeError(_ROUNDED.format(self.column, "of floats on SQLite"))

    def order_by(self) -> Iterator[sa.ColumnElement[Any]]:
        """Yield what ``order_by`` takes on every database.

        By itself each has NULLs elsewhere, and not all know NULLS FIRST.
        """
        if self.nulls_first is not None:
            is_null = self.column.is_(None)
            yield is_null.desc() if self.nulls_first else is_null
        yield self.column.desc() if self.is_descending else self.column.asc()

    def behind(self, value: ScrollValue) -> Condition:
        """Return the condition that a row comes behind that value."""
        if value is None:
            return self.column.is_not(None) if self.nulls_first else sa.false()
        found = self.literal(value)
        behind = self.column < found if self.is_descending else self.column > found
        return sa.or_(behind, self.column.is_(None)) if self.nulls_first is False else behind

    def at(self, value: ScrollValue) -> Condition:
        """Return the condition that a row has that value."""
        return self.column.is_(None) if value is None else self.column == self.literal(value)

    def not_before(self, value: ScrollValue) -> Condition:
        """Return the condition that a row has that value or comes behind it; without NULLs."""
        found = self.literal(value)
        return self.column <= found if self.is_descending else self.column >= found

    def literal(self, value: ScrollValue) -> sa.ColumnElement[Any]:
        """Return a value as one of the column's type."""
        return sa.literal(value, self.column.type)
