"""The SQL of the outbox, one replaceable package per kind of database."""

from pragmatic_ddd_sqlalchemy.dialects.choice import outbox_dialect
from pragmatic_ddd_sqlalchemy.dialects.dialect import IOutboxDialect

__all__ = ["IOutboxDialect", "outbox_dialect"]
