"""A query whose result is read by pages, or scrolled through.

query = OrderedQuery(
    sa.select(orders.c.id, orders.c.total),
    Keyset([orders.c.placed_at.desc(), orders.c.id]),
    lambda row: OrderSummary(order_id=row.id, total=row.total),
)
query.page(session, PageRequest(number=3), where=orders.c.total > 100)
query.scroll(session, after=position, limit=50)
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import attrs
import sqlalchemy as sa
from sqlalchemy.orm import Session

from pragmatic_ddd.application.arguments import can_be_called, check_count, check_type, of_type
from pragmatic_ddd.ports import PageRequest, PageResult, ScrollPosition, ScrollResult
from pragmatic_ddd_sqlalchemy.errors import lost_races_told, translated
from pragmatic_ddd_sqlalchemy.keyset import Keyset
from pragmatic_ddd_sqlalchemy.sort_key import Condition

RowT = TypeVar("RowT")

AnyRow = sa.Row[Any]  # of whatever columns
_Keys = tuple[Any, ...]


def _all_rows(_: object, attribute: "attrs.Attribute[Any]", value: sa.Select[Any]) -> None:
    """Refuse what pages and parts would pass over, or what the sort keys would change."""
    for what, is_there in (
        ("LIMIT or OFFSET", not value.compare(value.limit(None).offset(None).fetch(None))),
        ("DISTINCT", value.compare(value.distinct())),
    ):
        if is_there:
            raise ValueError(f"{attribute.name} has {what}: select from its subquery() instead")


@attrs.frozen(eq=False)
class OrderedQuery(Generic[RowT]):
    """A statement, its order, and what is made of its rows.

    Holds no session: make it once. With an ``AsyncSession``, ``await
    session.run_sync(query.page, request)``.

    Attributes:
        statement: A SELECT without LIMIT, OFFSET and DISTINCT; an ORDER BY that it has is
            replaced. One that groups is scrolled through as a subquery, by the columns of that.
        order: By what it is sorted.
        project: Called with each row; what it returns is in the results.

    Raises:
        TypeError: Something else was given than is asked for.
        ValueError: The statement has LIMIT, OFFSET or DISTINCT: make a subquery of it.
    """

    statement: sa.Select[Any] = attrs.field(validator=[of_type(sa.Select), _all_rows])
    order: Keyset = attrs.field(validator=of_type(Keyset))
    project: Callable[[AnyRow], RowT] = attrs.field(validator=can_be_called())

    def page(
        self,
        session: Session | sa.Connection,
        request: PageRequest,
        *,
        where: Condition | None = None,
    ) -> PageResult[RowT]:
        """Return one page; an empty one behind the end.

        Args:
            session: Where to ask.
            request: Which page.
            where: Which rows, of those of the statement; ``None``: all.

        Raises:
            OutboxStoreError: The database failed.
            TypeError: Something else was given than is asked for; nothing was asked.
            ValueError: Two rows have the same sort keys, or one is NULL that should not.
        """
        check_type("request", request, PageRequest)
        statement = self._where(where)
        with translated(), lost_races_told():
            rows, _ = self._rows(session, statement.offset(request.offset), request.size)
            is_last = len(rows) <= request.size
            total: int | None = None
            if request.with_total and is_last and (rows or request.number == 1):
                total = request.offset + len(rows)
            elif request.with_total:
                total = session.scalar(_count(statement))
        return PageResult(
            rows=tuple(self.project(row) for row in rows[: request.size]),
            number=request.number,
            size=request.size,
            has_next=not is_last,
            total=total,
        )

    def scroll(
        self,
        session: Session | sa.Connection,
        *,
        after: ScrollPosition | None = None,
        limit: int,
        where: Condition | None = None,
    ) -> ScrollResult[RowT]:
        """Return the next rows.

        Args:
            session: Where to ask.
            after: Where the part before ended; ``None``: from the start.
            limit: How many rows at most, at least 1.
            where: Which rows, of those of the statement: the same for each part; ``None``: all.

        Raises:
            OutboxStoreError: The database failed.
            ScrollPositionError: The position is one of another order; nothing was asked.
            TypeError: Something else was given than is asked for, or a sort key is a ``Numeric``
                on SQLite, where it is a float.
            ValueError: Two rows have the same sort keys, or one is NULL that should not.
        """
        check_count("limit", limit)
        statement = self._where(where)
        if after is not None:
            statement = statement.where(self.order.behind(after))
        with translated(), lost_races_told():
            self.order.check_exact(_dialect(session, statement))
            rows, keys = self._rows(session, statement, limit)
        rows = rows[:limit]
        return ScrollResult(
            rows=tuple(self.project(row) for row in rows),
            position=self.order.position(keys[len(rows) - 1]) if rows else after,
            has_next=len(keys) > limit,
        )

    def _where(self, condition: Condition | None) -> sa.Select[Any]:
        if condition is None:
            return self.statement
        check_type("where", condition, sa.ColumnElement)
        return self.statement.where(condition)

    def _rows(
        self, session: Session | sa.Connection, statement: sa.Select[Any], limit: int
    ) -> tuple[Sequence[AnyRow], Sequence[_Keys]]:
        """Return one row more than asked for, if there is one, and the sort keys of all."""
        columns = self.order.columns()
        statement = statement.add_columns(*columns).order_by(None)
        statement = statement.order_by(*self.order.order_by()).limit(limit + 1)
        found = session.execute(statement).freeze()
        width = len(found().keys()) - len(columns)
        keys = [tuple(row)[width:] for row in found()]
        self._check_order(keys)
        return found().columns(*range(width)).all(), keys

    def _check_order(self, keys: Sequence[_Keys]) -> None:
        for one in keys:
            self.order.position(one)
        for one, following in itertools.pairwise(keys):
            if one == following:
                raise ValueError(
                    f"two rows have the sort keys {one!r}: some would be missed; sort also by "
                    "what tells them apart"
                )


def _dialect(session: Session | sa.Connection, statement: sa.Select[Any]) -> sa.Dialect:
    if isinstance(session, sa.Connection):
        return session.dialect
    return session.get_bind(clause=statement).dialect


def _count(statement: sa.Select[Any]) -> sa.Select[Any]:
    rows = statement.order_by(None).subquery()
    return sa.select(sa.func.count()).select_from(rows)
