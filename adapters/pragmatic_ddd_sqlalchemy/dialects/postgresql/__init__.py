"""The SQL of the outbox in PostgreSQL."""

from pragmatic_ddd_sqlalchemy.dialects.postgresql.dialect import PostgreSqlDialect

__all__ = ["PostgreSqlDialect"]
