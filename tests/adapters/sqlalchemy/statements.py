"""Sees what an engine is asked."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy.dialects.sql import Sql


@contextmanager
def statements_of(engine: sa.Engine) -> Iterator[list[str]]:
    """Collect the statements that go to the server, without those that set up a connection."""
    seen: list[str] = []

    def remember(*arguments: object) -> None:
        seen.append(str(arguments[2]).split("--")[0].strip())

    sa.event.listen(engine, "before_cursor_execute", remember)
    try:
        yield seen
    finally:
        sa.event.remove(engine, "before_cursor_execute", remember)


def once_after(engine: sa.Engine, statement: Sql, do: Callable[[], object]) -> None:
    """Do something as soon as that statement has been executed, for the first time."""
    times = iter([True])

    def executed(connection: sa.Connection, _: object, text: str, *__: object) -> None:
        if text == statement.text_for(connection.dialect) and next(times, False):
            do()

    sa.event.listen(engine, "after_cursor_execute", executed)
