"""What a session writes on another connection than the one that matters: a second fact.

    sessionmaker(engine, binds={Report: reports_engine})

    COMMIT on the one ──▶ COMMIT on the other: it may fail, and the first is there already

Reading elsewhere is fine.
"""

import contextlib
import re
from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy.orm import Session

from pragmatic_ddd.errors import UnitOfWorkError

# As SQLAlchemy compiles it, or as somebody has written it by hand; also behind the comments of a
# tracer. What is passed over is never tried in another way: many comments would take for ever.
_WRITES = re.compile(
    r"(?>\s|/\*.*?\*/|--[^\n]*\n)*+"
    r"(?:(?:INSERT|UPDATE|DELETE|MERGE|REPLACE|TRUNCATE|CALL)\b"
    r"|COPY\b[^()]*(?:\([^()]*\))?\s*FROM\b"
    r"|WITH\b.*\b(?:INSERT\s+INTO|DELETE\s+FROM|MERGE\s+INTO|UPDATE\s.*\bSET)\b)",
    re.IGNORECASE | re.DOTALL,
)


@contextlib.contextmanager
def writes_elsewhere_refused(session: Session, connection: sa.Connection) -> Iterator[None]:
    """Have a session's writes raise an UnitOfWorkError where they go to another engine."""
    others: list[sa.Connection] = []

    def notice(_: object, __: object, begun: sa.Connection) -> None:
        if begun.engine is not connection.engine and begun not in others:
            others.append(begun)
            sa.event.listen(begun, "before_cursor_execute", _refuse_write)

    sa.event.listen(session, "after_begin", notice)
    try:
        yield
    finally:
        sa.event.remove(session, "after_begin", notice)
        for one in others:
            sa.event.remove(one, "before_cursor_execute", _refuse_write)


def _refuse_write(
    connection: sa.Connection,
    _cursor: object,
    statement: str,
    _parameters: object,
    _context: object,
    _executemany: object,
) -> None:
    if _WRITES.match(statement):
        raise UnitOfWorkError(
            f"the handler writes to {connection.engine.url!r} as well, which is not committed "
            "together with the mark of its event: have it write where the inbox is"
        )
