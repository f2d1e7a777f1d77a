"""Exact decimals in SQL on SQLite, where they are integers: wrong sums are refused.

    quantity + price          price is 1250 there, for 12.50
    price + fee, 3 * price    right: the same scale, a whole number

An expression that begins with the decimal is refused where it is written. One that begins with
another number asks that number's type, which knows nothing of it: it is met here, when its SQL
is made, once for each statement.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.sql import operators
from sqlalchemy.sql.elements import ExpressionClauseList, Grouping

from pragmatic_ddd_sqlalchemy.column_types.exact_decimal import refuse_mixed_scales

_OF_SEVERAL = frozenset(
    {
        operators.between_op,
        operators.not_between_op,
        operators.in_op,
        operators.not_in_op,
    }
)


class ExactSqliteCompiler(SQLiteCompiler):
    """Writes SQL for SQLite, but for decimals among other numbers."""

    def visit_binary(self, binary: "sa.BinaryExpression[Any]", *args: Any, **kwargs: Any) -> str:  # noqa: ANN401  # as SQLAlchemy has it
        """Return the SQL of an expression of two operands.

        Raises:
            ColumnValueError: An exact decimal and a number of another scale are among them.
        """
        refuse_mixed_scales(binary.operator, [binary.left, *_behind(binary)])
        sql: str = super().visit_binary(binary, *args, **kwargs)  # type: ignore[no-untyped-call]
        return sql

    def visit_expression_clauselist(
        self,
        clauselist: "ExpressionClauseList[Any]",
        **kwargs: Any,  # noqa: ANN401  # as above
    ) -> str:
        """Return the SQL of a sum, or a product, of three operands and more.

        Raises:
            ColumnValueError: As of two.
        """
        refuse_mixed_scales(clauselist.operator, clauselist.clauses)
        sql: str = super().visit_expression_clauselist(clauselist, **kwargs)  # type: ignore[no-untyped-call]
        return sql


def _behind(binary: "sa.BinaryExpression[Any]") -> "Sequence[sa.ColumnElement[Any]]":
    """Return what stands behind the operator: two of them in BETWEEN, several in IN."""
    right = binary.right
    if binary.operator not in _OF_SEVERAL:
        return [right]
    inner = right.element if isinstance(right, Grouping) else right
    several: Sequence[sa.ColumnElement[Any]] = getattr(inner, "clauses", [inner])
    return several
