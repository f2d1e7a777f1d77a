"""The SQL of the outbox in MySQL and MariaDB."""

from pragmatic_ddd_sqlalchemy.dialects.mysql.dialect import MySqlDialect

__all__ = ["MySqlDialect"]
