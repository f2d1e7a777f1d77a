"""The outbox' own short transactions: READ COMMITTED, repeated after a conflict."""

import random
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from pragmatic_ddd.errors import ConfigurationError, OutboxSchemaError
from pragmatic_ddd_sqlalchemy.connection_capacity import refuse_narrow
from pragmatic_ddd_sqlalchemy.dialects import IOutboxDialect
from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.engine import READ_ONLY
from pragmatic_ddd_sqlalchemy.errors import (
    is_conflict,
    is_read_only,
    replace_useless_connections,
    translated,
)
from pragmatic_ddd_sqlalchemy.same_database import commits_each_statement

T = TypeVar("T")

_TRIES = 8
_FIRST_PAUSE_SECONDS = 0.002


@attrs.frozen
class OwnTransactions:
    """Runs work in a transaction of its own, on a connection that it gives back.

    They run at READ COMMITTED, whatever the engine's level is, which they leave as it is. Work
    that fails because of others is repeated a few times; so is work that has met a connection
    to a server that has become read-only, on another connection.
    """

    engine: sa.Engine
    dialect: IOutboxDialect
    table: sa.Table

    def __attrs_post_init__(self) -> None:
        replace_useless_connections(self.engine)

    def write(self, work: Callable[[sa.Connection], T]) -> T:
        """Return what ``work`` returns, committed.

        Raises:
            OutboxStoreError: The last try has failed, too; nothing is changed, unless the
                connection was lost during the commit itself.
        """
        with translated(table=self.table):
            for tries in range(1, _TRIES):
                try:
                    return self._once(work, {}, self.dialect.opening)
                except DBAPIError as error:
                    if not is_conflict(error) and not is_read_only(error):
                        raise
                pause(tries)
            return self._once(work, {}, self.dialect.opening)

    def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Return what ``work`` returns, which only reads.

        Raises:
            OutboxStoreError: The database has failed.
        """
        with translated(table=self.table):
            return self._once(work, READ_ONLY)  # of one statement: its level makes no difference

    def _once(
        self,
        work: Callable[[sa.Connection], T],
        options: Mapping[str, Any],
        opening: Sql | None = None,
    ) -> T:
        level = self.dialect.isolation_level
        if level is not None:
            options = {**options, "isolation_level": level}
        with self.engine.connect() as connection:
            self._check_server(connection)
            self._refuse_autocommit(connection)
            connection.execution_options(**options)
            with connection.begin():
                refuse_narrow(connection)
                if opening is not None:
                    opening.execute(connection)
                return work(connection)

    def _check_server(self, connection: sa.Connection) -> None:
        if not self.dialect.serves(connection.dialect):
            version = ".".join(map(str, connection.dialect.server_version_info or ()))
            raise OutboxSchemaError(
                [f"the outbox needs {self.dialect.oldest_server} or newer, this is {version}"]
            )

    def _refuse_autocommit(self, connection: sa.Connection) -> None:
        if commits_each_statement(connection):
            problem = f"the driver of {self.engine.url} commits by itself (AUTOCOMMIT)"
            raise ConfigurationError([f"{problem}: what is claimed would be locked by nobody"])


def pause(tries: int) -> None:
    """Leave others the time to end, more after each try."""
    time.sleep(random.uniform(0, _FIRST_PAUSE_SECONDS * 2**tries))  # noqa: S311  # no secret
