"""The unit of work over a SQLAlchemy session.

    units_of_work = SqlAlchemyUnitsOfWork(sessions)

    with units_of_work() as work:
        work.get(Order, order_id).pay()
        work.commit()

The same happens in plain sessions with the outbox attached; this is for code that should not
know SQLAlchemy, and must not see its errors.
"""

from types import TracebackType
from typing import Any, Self, TypeVar

import attrs
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd.errors import AggregateNotFoundError, UnitOfWorkError
from pragmatic_ddd_sqlalchemy.errors import lost_races_told, translated
from pragmatic_ddd_sqlalchemy.outbox_session import OutboxSession

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)


@attrs.define(eq=False)
class SqlAlchemyUnitOfWork:
    """One transaction of one session, which it closes at its end.

    Attributes:
        session: For queries and repositories of yours; leave ``commit`` to the unit of work.

    Raises:
        UnitOfWorkError: No outbox is attached to the session's sessionmaker.
    """

    session: Session
    _has_ended: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.session, OutboxSession):
            raise UnitOfWorkError(_NOT_ATTACHED)

    def get(self, aggregate_type: type[AggregateT], aggregate_id: object) -> AggregateT:
        self._check_open()
        with translated(), lost_races_told():
            found = self.session.get(aggregate_type, aggregate_id)
        if found is None:
            raise AggregateNotFoundError(aggregate_type.aggregate_name, aggregate_id)
        return found

    def add(self, aggregate: AggregateRoot) -> None:
        self._check_open()
        with translated(), lost_races_told():
            self.session.add(aggregate)

    def commit(self) -> None:
        self._check_open()
        try:
            self.session.commit()
        except BaseException:
            self.rollback()
            with translated(), lost_races_told():
                raise
        self._has_ended = True

    def rollback(self) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        try:
            self.session.rollback()
        except SQLAlchemyError:
            # The connection is lost, and the server rolls back by itself: never pool it again.
            self.session.invalidate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.rollback()
        self.session.close()

    def _check_open(self) -> None:
        if self._has_ended:
            raise UnitOfWorkError("this unit of work has ended: make a new one for the next change")


@attrs.frozen
class SqlAlchemyUnitsOfWork:
    """Makes units of work.

    Attributes:
        sessions: A sessionmaker that has the outbox attached.

    Raises:
        UnitOfWorkError: It has none.
    """

    sessions: sessionmaker[Any]  # of whatever session class

    def __attrs_post_init__(self) -> None:
        if not issubclass(self.sessions.class_, Session):
            raise UnitOfWorkError(_NOT_SYNC)
        if not issubclass(self.sessions.class_, OutboxSession):
            raise UnitOfWorkError(_NOT_ATTACHED)

    def __call__(self) -> SqlAlchemyUnitOfWork:
        """Return a new unit of work, over a new session."""
        return SqlAlchemyUnitOfWork(self.sessions())


_NOT_SYNC = "units of work are made of sync sessions: with an AsyncSession, use it by itself"
_NOT_ATTACHED = "no outbox is attached to this sessionmaker: call SqlAlchemyOutbox.attach() first"
