"""Whether the type of a live column holds whatever the outbox puts into it."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

AnyType = sa.types.TypeEngine[Any]

_MICROSECONDS = 6


def type_problem(column: "sa.Column[Any]", live: AnyType, dialect_name: str) -> str | None:
    """Return what is wrong with the type of a live column; ``None`` where it is sufficient."""
    if dialect_name == "sqlite" or _is_sufficient(column, live, dialect_name):
        return None
    wanted = column.type.compile(dialect=_dialect(dialect_name))
    return f"column {column.name} is {live!r}, and must be {wanted}"


def _is_sufficient(column: "sa.Column[Any]", live: AnyType, dialect_name: str) -> bool:
    # MySQL's types have the lengths; elsewhere text has none.
    wanted = column.type.dialect_impl(_dialect("mysql"))
    if isinstance(wanted, sa.DateTime):
        if dialect_name == "postgresql":
            return isinstance(live, sa.DateTime) and live.timezone
        return isinstance(live, mysql.DATETIME) and live.fsp == _MICROSECONDS
    if isinstance(wanted, sa.Integer):
        large = isinstance(wanted, sa.BigInteger)
        return isinstance(live, sa.BigInteger if large else sa.Integer)
    if isinstance(wanted, mysql.LONGTEXT):
        return _is_endless_text(live, dialect_name)
    if not isinstance(live, sa.String) or isinstance(live, sa.CHAR):
        return False
    return live.length is None or live.length >= _length(wanted)


def _is_endless_text(live: AnyType, dialect_name: str) -> bool:
    if dialect_name == "postgresql":
        return isinstance(live, sa.String) and live.length is None
    return isinstance(live, mysql.LONGTEXT)


def _length(wanted: AnyType) -> int:
    return (isinstance(wanted, sa.String) and wanted.length) or 0


def _dialect(name: str) -> sa.Dialect:
    driver = "psycopg" if name == "postgresql" else "pymysql"
    return sa.make_url(f"{name}+{driver}://").get_dialect()()
