"""Units of work over SQLAlchemy sessions, each over a session of its own.

    units_of_work = SqlAlchemyUnitsOfWork(sessions)

    with units_of_work() as work:
        work.get(Order, order_id).pay()
        work.commit()

The same happens in plain sessions with the outbox attached; this is for code that should not
know SQLAlchemy, and must not see its errors.
"""

from typing import Any

import attrs
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.application.arguments import check_type
from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd_sqlalchemy.outbox_session import NOT_ATTACHED, OutboxSession
from pragmatic_ddd_sqlalchemy.unit_of_work import SqlAlchemyUnitOfWork

_NOT_SYNC = "units of work are made of sync sessions: with an AsyncSession, use it by itself"


@attrs.frozen
class SqlAlchemyUnitsOfWork:
    """Makes units of work.

    Attributes:
        sessions: A sessionmaker that has the outbox attached.

    Raises:
        TypeError: It is no sessionmaker.
        UnitOfWorkError: It has none.
    """

    sessions: sessionmaker[Any]  # of whatever session class

    def __attrs_post_init__(self) -> None:
        made = getattr(self.sessions, "class_", None)
        if not isinstance(made, type):
            check_type("sessions", self.sessions, sessionmaker)
        elif not issubclass(made, Session):
            raise UnitOfWorkError(_NOT_SYNC)
        elif not issubclass(made, OutboxSession):
            raise UnitOfWorkError(NOT_ATTACHED)

    def __call__(self) -> SqlAlchemyUnitOfWork:
        """Return a new unit of work, over a new session.

        What it has loaded can be read after its end: nothing is expired by a commit after which
        nothing can be loaded. Of columns that the database computes in an UPDATE, such as
        ``onupdate=func.now()``, that holds with ``eager_defaults=True`` in their mapping.
        """
        return SqlAlchemyUnitOfWork(self.sessions(expire_on_commit=False))
