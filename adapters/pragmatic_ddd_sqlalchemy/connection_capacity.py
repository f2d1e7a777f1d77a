"""What a connection carries: every character, and statements up to a size. Asked once of each.

A server converts text between the connection's character set and the table's, both ways and in
silence: over a connection in latin1 or in MySQL's old utf8, an emoji is read as ``?``, and the
bytes sent would not be the bytes stored. And it hangs up on a statement that is too large, so
that this looks like an outage.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import sqlalchemy as sa

from pragmatic_ddd.errors import OutboxSchemaError
from pragmatic_ddd_sqlalchemy.errors import RefusedByDatabaseError

_KEPT_AS = "pragmatic_ddd.connection_capacity"
_MYSQL = sa.text("""
SELECT @@character_set_client, @@character_set_connection,
    COALESCE(@@character_set_results, 'utf8mb4'), @@max_allowed_packet
""")
_POSTGRESQL = sa.text("SHOW client_encoding")

# What stands in an INSERT beside a row's text, generously.
_FRAME_BYTES = 2048
_ESCAPED = "\0\n\r\x1a\"'\\"


@attrs.frozen(kw_only=True)
class ConnectionCapacity:
    """What one connection carries.

    Attributes:
        problems: A sentence where it does not carry every character.
        largest_packet_bytes: What the server reads at once; ``None``: all there is.
    """

    problems: tuple[str, ...] = ()
    largest_packet_bytes: int | None = None


def capacity_of(connection: sa.Connection) -> ConnectionCapacity:
    """Return what a connection carries; the server is asked once in the connection's life."""
    known = connection.info.get(_KEPT_AS)
    if isinstance(known, ConnectionCapacity):
        return known
    capacity = _asked(connection)
    connection.info[_KEPT_AS] = capacity
    return capacity


def refuse_narrow(connection: sa.Connection) -> None:
    """Raise where a connection does not carry every character.

    Raises:
        OutboxSchemaError: It does not; says what to set.
    """
    problems = capacity_of(connection).problems
    if problems:
        raise OutboxSchemaError(problems)


def refuse_oversized(connection: sa.Connection, rows: Iterable[Mapping[str, Any]]) -> None:
    """Raise where the server would hang up on a row, before it is sent.

    Raises:
        RefusedByDatabaseError: A row is larger than what the server reads; nothing was sent.
    """
    largest = capacity_of(connection).largest_packet_bytes
    if largest is None:
        return
    for row in rows:
        texts = [value for value in row.values() if isinstance(value, str)]
        # No character takes more than four bytes: most rows need no closer look.
        if _FRAME_BYTES + 4 * sum(map(len, texts)) <= largest:
            continue
        size = _FRAME_BYTES + sum(map(_bytes_in_statement, texts))
        if size > largest:
            raise RefusedByDatabaseError(
                f"message {row['message_id']!r} takes {size} bytes of a statement, and the server "
                f"reads {largest}: raise max_allowed_packet or store less"
            )


def _asked(connection: sa.Connection) -> ConnectionCapacity:
    if connection.dialect.name == "postgresql":
        encoding = str(connection.execute(_POSTGRESQL).scalar_one())
        return ConnectionCapacity(problems=_problems({encoding} - {"UTF8"}, "client_encoding=utf8"))
    if connection.dialect.name in ("mysql", "mariadb"):
        *character_sets, packet = connection.execute(_MYSQL).one()
        return ConnectionCapacity(
            problems=_problems({*map(str, character_sets)} - {"utf8mb4"}, "charset=utf8mb4"),
            largest_packet_bytes=int(packet),
        )
    return ConnectionCapacity()


def _problems(narrow: set[str], remedy: str) -> tuple[str, ...]:
    if not narrow:
        return ()
    return (f"the connection speaks {', '.join(sorted(narrow))}: put {remedy} into the URL",)


def _bytes_in_statement(text: str) -> int:
    return len(text.encode()) + sum(map(text.count, _ESCAPED))
