"""Repositories over a SQLAlchemy session: the ORM does the work, this gives it the port's shape.

    class Orders(Repository[Order]):
        def unpaid(self) -> Sequence[Order]:
            return self.session.scalars(sa.select(Order).where(Order.paid.is_(False))).all()

    with units_of_work() as work:
        orders = Orders(Order, work.session)

An aggregate is one instance in one session: that is the session's identity map.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.orm import Mapper, Session

from pragmatic_ddd.application.arguments import check_class, check_type, of_type, shown
from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd_sqlalchemy.deletion import delete
from pragmatic_ddd_sqlalchemy.errors import lost_races_told, translated
from pragmatic_ddd_sqlalchemy.versioned_writes import touch, version_key

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)

_VERSION = "version"


@attrs.frozen(eq=False)
class Repository(Generic[AggregateT]):
    """Aggregates of one mapped class, in the transaction of one session.

    Each write is flushed at once, so that a lost race shows where it was lost. With the outbox
    attached to the session, its commit stores the events of what was written; without one,
    nobody does: they stay on the aggregate, and are lost with it.

    Attributes:
        aggregate_type: The class of the aggregates, mapped with its ``version`` as
            ``version_id_col``. Where its key has several columns, an id is a tuple.
        session: For queries of your own.

    Raises:
        TypeError: It is no such class, or no session.
    """

    aggregate_type: type[AggregateT]
    session: Session = attrs.field(validator=of_type(Session))
    _mapper: Mapper[AggregateT] = attrs.field(init=False, repr=False)

    @_mapper.default
    def _mapped(self) -> Mapper[AggregateT]:
        check_class("aggregate_type", self.aggregate_type, AggregateRoot)
        mapper: Mapper[AggregateT] | None = sa.inspect(self.aggregate_type, raiseerr=False)
        if mapper is None:
            raise TypeError(f"aggregate_type: {shown(self.aggregate_type)} is not mapped")
        if version_key(mapper) != _VERSION:
            raise TypeError(
                f"aggregate_type: {shown(self.aggregate_type)} is mapped without a version: "
                "give its mapper the column of `version` as version_id_col"
            )
        return mapper

    def insert(self, aggregate: AggregateT) -> None:
        check_type("aggregate", aggregate, self.aggregate_type)
        if not _is_new(aggregate):
            raise UnitOfWorkError(f"{_named(aggregate)} is stored already: update() it")
        self._write(aggregate)

    def update(self, aggregate: AggregateT) -> None:
        self._check_loaded(aggregate)
        self._write(aggregate)

    def save(self, aggregate: AggregateT) -> None:
        check_type("aggregate", aggregate, self.aggregate_type)
        self._write(aggregate)

    def find_by_id(self, aggregate_id: object) -> AggregateT | None:
        self._ids(aggregate_id)
        with _told():
            return self.session.get(self.aggregate_type, aggregate_id)

    def remove(self, aggregate: AggregateT) -> None:
        self._check_loaded(aggregate)
        with _told():
            self._attach(aggregate)
            delete(self.session, aggregate)
            self.session.flush()

    def exists_by_id(self, aggregate_id: object) -> bool:
        return self.current_version(aggregate_id) is not None

    def current_version(self, aggregate_id: object) -> int | None:
        ids = zip(self._mapper.primary_key, self._ids(aggregate_id), strict=True)
        is_it = (self._attribute(column) == one for column, one in ids)
        version = self._attribute(self._mapper.version_id_col)
        with _told():
            return self.session.scalar(sa.select(version).select_from(self._mapper).where(*is_it))

    def _write(self, aggregate: AggregateT) -> None:
        with _told():
            aggregate.trigger_data_sync_hook()
            is_new = _is_new(aggregate)
            self._attach(aggregate)
            if not is_new:
                touch(aggregate)
            self.session.flush()

    def _attach(self, aggregate: AggregateT) -> None:
        if sa.inspect(aggregate).key is None and not aggregate.is_new:
            raise UnitOfWorkError(
                f"{_named(aggregate)} says that it is stored in version {aggregate.version}, and "
                "no session has loaded or stored it: change what find_by_id() returns"
            )
        try:
            self.session.add(aggregate)
        except InvalidRequestError as error:
            # It, or another instance with its identity, belongs to a session already.
            raise UnitOfWorkError(f"{_named(aggregate)} is in use elsewhere: {error}") from error

    def _check_loaded(self, aggregate: AggregateT) -> None:
        check_type("aggregate", aggregate, self.aggregate_type)
        if _is_new(aggregate):
            raise UnitOfWorkError(f"{_named(aggregate)} is new: insert() it first")

    def _ids(self, aggregate_id: object) -> tuple[object, ...]:
        ids = aggregate_id if isinstance(aggregate_id, tuple) else (aggregate_id,)
        key = self._mapper.primary_key
        if len(ids) != len(key):
            columns = ", ".join(column.name for column in key)
            raise ValueError(f"aggregate_id = {aggregate_id!r}: one value for each of {columns}")
        return ids

    def _attribute(self, column: Any) -> Any:  # noqa: ANN401  # SQLAlchemy's own type for them
        return getattr(self.aggregate_type, self._mapper.get_property_by_column(column).key)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    with translated(), lost_races_told():
        yield


def _is_new(aggregate: AggregateRoot) -> bool:
    # What a session knows is stored, whose version might have to be loaded to be asked.
    return sa.inspect(aggregate).key is None and aggregate.is_new


def _named(aggregate: AggregateRoot) -> str:
    return f"{type(aggregate).__name__} {aggregate.id!r}"
