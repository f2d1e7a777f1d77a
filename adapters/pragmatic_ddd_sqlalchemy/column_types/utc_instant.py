"""Instants: aware, in UTC, to the microsecond, on every database.

    sa.Column("paid_at", UtcInstantType())

SQLAlchemy's ``DateTime(timezone=True)`` comes back naive on MySQL, MariaDB and SQLite, and the
first two cut or round the microseconds.
"""

import datetime as dt
from typing import Any

import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy.errors import ColumnValueError
from pragmatic_ddd_sqlalchemy.table import instant

# A session's time zone is less than that away from UTC.
_FARTHEST_ZONE = dt.timedelta(hours=16)
_FIRST = dt.datetime.min.replace(tzinfo=dt.UTC) + _FARTHEST_ZONE
_LAST = dt.datetime.max.replace(tzinfo=dt.UTC) - _FARTHEST_ZONE


class UtcInstantType(sa.types.TypeDecorator[dt.datetime]):
    """Holds aware datetimes, converted to UTC; refuses naive ones: what instant is it?

    The first and the last 16 hours that Python knows are refused, too: PostgreSQL gives instants
    back in the time zone of the session, where these may be in the year 0 or 10000.
    """

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def __init__(self) -> None:
        super().__init__()

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[dt.datetime]:
        return instant()

    def process_bind_param(
        self, value: dt.datetime | None, dialect: sa.Dialect
    ) -> dt.datetime | None:
        if value is None:
            return None
        moment = _in_utc(value)
        # What converts by itself takes it as it is; else the driver would drop the zone, or not.
        return moment if dialect.name == "postgresql" else moment.replace(tzinfo=None)

    def process_result_value(
        self, value: dt.datetime | None, dialect: sa.Dialect
    ) -> dt.datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)

    def coerce_compared_value(
        self,
        op: sa.sql.operators.OperatorType | None,
        value: Any,  # noqa: ANN401  # whatever stands on the other side
    ) -> sa.types.TypeEngine[Any]:
        """Let a duration be added: it is no instant."""
        if isinstance(value, dt.timedelta):
            return sa.Interval()
        return self

    def __repr__(self) -> str:
        """Say what a migration needs."""
        return "UtcInstantType()"


def _in_utc(value: object) -> dt.datetime:
    if not isinstance(value, dt.datetime):
        raise ColumnValueError("instants", f"{value!r:.60} is of type {type(value).__name__}")
    if value.utcoffset() is None:
        raise ColumnValueError(
            "instants", f"{value!r} has no time zone: what instant is it? dt.datetime.now(dt.UTC)"
        )
    try:
        moment = value.astimezone(dt.UTC)
    except OverflowError as error:
        raise ColumnValueError("instants", f"{value!r} is beyond what UTC has") from error
    if not _FIRST <= moment <= _LAST:
        raise ColumnValueError(
            "instants",
            f"{value!r} could not be read in every time zone: from {_FIRST} to {_LAST}; for "
            "something without an end, take NULL",
        )
    return moment
