"""The versions of stored aggregates, for whoever has no transaction and must not hold one."""

from typing import Any

import attrs
from sqlalchemy.orm import Session, sessionmaker

from pragmatic_ddd.application.arguments import of_type
from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd_sqlalchemy.engine import READ_ONLY
from pragmatic_ddd_sqlalchemy.errors import translated
from pragmatic_ddd_sqlalchemy.repository import Repository


@attrs.frozen(eq=False)
class SqlAlchemyAggregateVersionResolver:
    """Asks in a short transaction of its own each time, one that only reads.

    What a reconciler asks must be what is committed now, and must lock nothing that the repair
    writes: a ``Repository`` would ask in its session's transaction.

    Attributes:
        aggregate_type: The class of the aggregates, as a ``Repository`` takes it.
        sessions: Makes the sessions.

    Raises:
        TypeError: It is no such class, or no sessionmaker.
    """

    aggregate_type: type[AggregateRoot]
    sessions: sessionmaker[Any] = attrs.field(validator=of_type(sessionmaker))

    def __attrs_post_init__(self) -> None:
        Repository(self.aggregate_type, Session())

    def current_version(self, aggregate_id: object) -> int | None:
        with self.sessions() as session:
            with translated():
                session.connection(execution_options=READ_ONLY)
            return Repository(self.aggregate_type, session).current_version(aggregate_id)
