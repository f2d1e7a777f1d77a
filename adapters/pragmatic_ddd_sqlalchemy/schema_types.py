"""Whether the type of a live column holds whatever the outbox puts into it."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

AnyType = sa.types.TypeEngine[Any]

_WHOLE_TEXTS = ("payload", "headers")
_LARGE_NUMBERS = ("id", "aggregate_version")


def type_problem(column: "sa.Column[Any]", live: AnyType, dialect_name: str) -> str | None:
    """Return what is wrong with the type of a live column; ``None`` where it is sufficient."""
    if dialect_name == "sqlite":
        return None
    wanted = column.type.dialect_impl(_dialect(dialect_name))
    if _is_sufficient(column.name, wanted, live, dialect_name):
        return None
    compiled = wanted.compile(dialect=_dialect(dialect_name))
    return f"column {column.name} is {live!r}, and must be {compiled}"


def _is_sufficient(name: str, wanted: AnyType, live: AnyType, dialect_name: str) -> bool:
    if isinstance(wanted, sa.DateTime):
        if dialect_name == "postgresql":
            return isinstance(live, sa.DateTime) and live.timezone
        return isinstance(live, mysql.DATETIME) and live.fsp == 6  # noqa: PLR2004  # microseconds
    if isinstance(wanted, sa.Integer):
        wide = isinstance(live, sa.BigInteger)
        return wide or (isinstance(live, sa.Integer) and name not in _LARGE_NUMBERS)
    if dialect_name != "postgresql" and name in _WHOLE_TEXTS:
        return isinstance(live, mysql.LONGTEXT)
    return _takes_text(wanted, live)


def _takes_text(wanted: AnyType, live: AnyType) -> bool:
    if not isinstance(live, sa.String) or isinstance(live, sa.CHAR):
        return False
    if live.length is None:
        return True
    needed = wanted.length if isinstance(wanted, sa.String) else None
    return needed is not None and live.length >= needed


def _dialect(name: str) -> sa.Dialect:
    return sa.make_url(
        f"{name}+{'psycopg' if name == 'postgresql' else 'pymysql'}://"
    ).get_dialect()()
