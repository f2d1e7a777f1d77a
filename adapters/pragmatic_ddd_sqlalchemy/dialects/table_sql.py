"""One statement about one table, in the words of each kind of database."""

from collections.abc import Mapping, Sequence

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from pragmatic_ddd.errors import OutboxSchemaError
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.dialects.statements import named

_KINDS = {"postgresql": "postgresql", "mysql": "mysql", "mariadb": "mysql", "sqlite": "sqlite"}
# Of a transaction that waits for a lock, not of its beginning: see the outbox' own dialects.
_NOW = {
    "postgresql": "clock_timestamp()",
    "mysql": "UTC_TIMESTAMP(6)",
    "sqlite": "(strftime('%Y-%m-%d %H:%M:%f', 'now') || '000')",
}
_FOR_UPDATE = {"postgresql": "FOR UPDATE", "mysql": "FOR UPDATE", "sqlite": ""}

_DUPLICATE_CODE = 1062


@attrs.frozen(eq=False)
class TableSql:
    """A statement.

    Attributes:
        table: What ``{table}`` stands for in it.
        texts: By kind of database: ``postgresql``, ``mysql`` (MariaDB, too) and ``sqlite``.
            ``{now}`` is the database's time, ``{for_update}`` locks where rows can be locked.
        fragments: What else stands in it by a name in braces.
    """

    table: sa.Table
    texts: Mapping[str, str]
    fragments: Mapping[str, str] = attrs.field(factory=dict)
    _made: dict[str, Sql] = attrs.field(factory=dict, init=False)

    @classmethod
    def alike(
        cls, table: sa.Table, text: str, fragments: Mapping[str, str] | None = None
    ) -> "TableSql":
        """Return one that is in the same words everywhere."""
        return cls(table, dict.fromkeys(_NOW, text), fragments or {})

    def is_for(self, connection: sa.Connection) -> bool:
        """Say whether there is such a statement on the database that a connection leads to."""
        return _KINDS.get(connection.dialect.name) in self.texts

    def on(self, connection: sa.Connection) -> Sql:
        """Return it for the database that a connection leads to.

        Raises:
            OutboxSchemaError: Nothing of this package runs there.
        """
        dialect = connection.dialect
        statement = self._made.get(dialect.name)
        if statement is None:
            statement = self._made[dialect.name] = self._for(dialect)
        return statement

    def _for(self, dialect: sa.Dialect) -> Sql:
        kind = _KINDS.get(dialect.name)
        if kind is None:
            raise OutboxSchemaError([f"no inbox on {dialect.name!r}, only on {', '.join(_KINDS)}"])
        name = dialect.identifier_preparer.format_table(self.table).replace(":", r"\:")
        everywhere = {"now": _NOW[kind], "for_update": _FOR_UPDATE[kind], "table": name}
        return named(self.texts[kind], {**self.fragments, **everywhere})


def is_duplicate(error: IntegrityError) -> bool:
    """Say whether MySQL or MariaDB has refused a key that is there already."""
    arguments: Sequence[object] = getattr(error.orig, "args", ())
    return len(arguments) > 0 and arguments[0] == _DUPLICATE_CODE
