"""The SQL of the outbox in SQLite."""

from pragmatic_ddd_sqlalchemy.dialects.sqlite.dialect import SqliteDialect

__all__ = ["SqliteDialect"]
