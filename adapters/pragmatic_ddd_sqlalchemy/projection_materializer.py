"""Views of aggregates as rows of a table, each with the version that it is of.

summaries = SqlAlchemyProjectionMaterializer(OrderSummary, order_summary, session)
summaries.materialize(OrderSummary(order_id="o1", total=5), version=order.version)
"""

from typing import Any, Generic, TypeVar, cast

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from pragmatic_ddd.application.arguments import check_count, check_type, of_type, shown
from pragmatic_ddd_sqlalchemy.errors import lost_races_told, translated

ViewT = TypeVar("ViewT", bound=attrs.AttrsInstance)


@attrs.frozen(eq=False)
class SqlAlchemyProjectionMaterializer(Generic[ViewT]):
    """Writes and removes views, and knows of which versions they are.

    So it is also the ``IReadModelVersionResolver`` of its table. On PostgreSQL, use its default,
    READ COMMITTED: in a transaction that keeps its snapshot, a view that somebody else has just
    inserted is an error.

    Attributes:
        view_type: An attrs class, each of whose fields has a column of the same name.
        table: Has one column as primary key, for the aggregate's id, and one for the version.
        session: In whose transaction it works.
        version_column: Name of the column for the version.

    Raises:
        TypeError: Something else was given than is asked for.
        ValueError: A column is missing, or the primary key has not one column, or no field.
    """

    view_type: type[ViewT] = attrs.field()
    table: sa.Table = attrs.field(validator=of_type(sa.Table))
    session: Session | sa.Connection = attrs.field()
    version_column: str = attrs.field(default="version", kw_only=True, validator=of_type(str))

    @view_type.validator
    def _check_view_type(self, _: object, value: object) -> None:
        if not isinstance(value, type) or not attrs.has(value):
            raise TypeError(f"view_type = {shown(value)}: give an attrs class")

    @session.validator
    def _check_session(self, _: object, value: object) -> None:
        if not isinstance(value, sa.Connection):
            check_type("session", value, Session)

    def __attrs_post_init__(self) -> None:
        if len(self.table.primary_key) != 1:
            raise ValueError(f"table {self.table.fullname}: its primary key has not one column")
        names = {field.name for field in attrs.fields(self.view_type)}
        if self._key.key not in names:
            raise ValueError(
                f"view_type {shown(self.view_type)} has no field for {self._key.key}, the key of "
                f"table {self.table.fullname}"
            )
        missing = {*names, self.version_column} - set(self.table.c.keys())
        if missing:
            raise ValueError(
                f"table {self.table.fullname} has no column for {', '.join(sorted(missing))}"
            )

    def materialize(self, view: ViewT, *, version: int) -> bool:
        check_type("view", view, self.view_type)
        check_count("version", version)
        values = attrs.asdict(view, recurse=False) | {self.version_column: version}
        aggregate_id = values[self._key.key]
        with translated(), lost_races_told():
            if self._version_of(aggregate_id) is None and self._insert(values):
                return True
            return self._update(aggregate_id, values)

    def remove(self, aggregate_id: object) -> bool:
        with translated(), lost_races_told():
            return self._changes(sa.delete(self.table).where(self._key == aggregate_id))

    def version_of(self, aggregate_id: object) -> int | None:
        with translated(), lost_races_told():
            return self._version_of(aggregate_id)

    @property
    def _key(self) -> sa.Column[Any]:
        [key] = self.table.primary_key
        return key

    @property
    def _version(self) -> sa.Column[Any]:
        return self.table.c[self.version_column]

    def _version_of(self, aggregate_id: object, *, now: bool = False) -> int | None:
        statement = sa.select(self._version).where(self._key == aggregate_id)
        found: int | None = self.session.scalar(statement.with_for_update() if now else statement)
        return found

    def _insert(self, values: dict[str, Any]) -> bool:
        """Insert a row; return ``False`` where somebody else has just done so."""
        try:
            with self.session.begin_nested():
                self.session.execute(sa.insert(self.table).values(values))
        except IntegrityError:
            # A locking read sees also what came after this transaction's snapshot.
            if self._version_of(values[self._key.key], now=True) is None:
                raise
            return False
        return True

    def _update(self, aggregate_id: object, values: dict[str, Any]) -> bool:
        is_older = self._version < values[self.version_column]
        statement = sa.update(self.table).where(self._key == aggregate_id, is_older)
        return self._changes(statement.values(values))

    def _changes(self, statement: sa.Update | sa.Delete) -> bool:
        result = cast("sa.CursorResult[Any]", self.session.execute(statement))
        return result.rowcount > 0
