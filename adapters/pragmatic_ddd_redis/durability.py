"""What a confirmation of Redis is worth, chosen by name, and how it is asked for.

memory        XADD was answered                                       the server asks for no disk
append-only   XADD was answered by a server with an append-only file  the default
synced        ... and WAITAOF: the file is on the server's disk       Redis 7.2, Valkey 7.2
replicas = n  ... and so many replicas have it, too                   WAIT, or WAITAOF

Redis answers before its disk has anything. With ``appendfsync everysec``, its default, it writes
the file at once and has the disk take it within a second or so; while the disk is slower than that
Redis keeps up to two seconds in its own memory. With ``always`` it answers after the disk.
"""

import datetime as dt
import re
from typing import Final

import attrs

from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd.ports.durability import Durability
from pragmatic_ddd_redis.connections import Command, RedisConnections
from pragmatic_ddd_redis.errors import RefusedCommandError

MEMORY: Final = "memory"
APPEND_ONLY: Final = "append-only"
SYNCED: Final = "synced"
PROFILES: Final = (MEMORY, APPEND_ONLY, SYNCED)

_APPENDS = re.compile(rb"^aof_enabled:1\r?$", re.MULTILINE)
_OF_THE_WAIT = 0.8  # the rest of the time is for the way to the server and back

_MEANINGS = {
    MEMORY: "the server has the event in its memory; what it keeps on disk is its own affair",
    APPEND_ONLY: (
        "a server that keeps an append-only file has the event; with appendfsync everysec a crash "
        "or a loss of power may cost what the last two seconds brought"
    ),
    SYNCED: "the event is in the append-only file on the server's disk",
}


@attrs.frozen(kw_only=True)
class Confirmation:
    """Asks for what a profile says, behind the commands that it is about.

    Attributes:
        profile: One of ``PROFILES``.
        replicas: How many replicas must have it, too.
        within: How long the server may wait for that.
    """

    profile: str
    replicas: int
    within: dt.timedelta

    @property
    def durability(self) -> Durability:
        """What a confirmed event survives, at the least."""
        meaning = _MEANINGS[self.profile]
        if self.replicas:
            also = "on disk, too" if self.profile == SYNCED else "in their memory"
            meaning += f"; {self.replicas} of its replicas have it {also}, and one must take over"
        return Durability(
            name=self.profile,
            sent_means=meaning,
            survives_process_crash=self.profile == SYNCED,
            survives_power_loss=self.profile == SYNCED,
            survives_node_loss=self.replicas > 0,
        )

    @property
    def command(self) -> Command | None:
        """What to send behind the commands; ``None``: their answers are enough."""
        milliseconds = max(1, int(self.within.total_seconds() * 1000 * _OF_THE_WAIT))
        if self.profile == SYNCED:
            return ("WAITAOF", 1, self.replicas, milliseconds)
        if self.replicas:
            return ("WAIT", self.replicas, milliseconds)
        return None

    def shortfall(self, answer: object) -> str | None:
        """Return what is missing, by the answer to ``command``; ``None``: nothing."""
        if isinstance(answer, Exception):
            return f"added, and not confirmed: {answer}"
        synced, replicas = answer if isinstance(answer, list) else (1, answer)
        if self.profile == SYNCED and synced < 1:
            return "added, and the append-only file was not on disk in time"
        if not isinstance(replicas, int) or replicas < self.replicas:
            return f"added, and {replicas} of {self.replicas} replicas had it in time"
        return None


def check_server(connections: RedisConnections, profile: str, *, until: float) -> None:
    """Refuse a server whose settings give less than a profile asks for.

    Args:
        connections: The server.
        profile: One of ``PROFILES``.
        until: When to stop waiting, as a reading of the monotonic clock.

    Raises:
        ConfigurationError: They do, or it cannot be found out; says what helps.
        NotSentError: It cannot be reached.
        NoAnswerError: It does not answer.
    """
    if profile == MEMORY:
        return
    try:
        persistence = connections.ask("INFO", "persistence", until=until)
    except RefusedCommandError as error:
        raise ConfigurationError(
            [f"redis.durability = {profile}: the server does not tell (INFO): {error}"]
        ) from error
    if not isinstance(persistence, bytes) or not _APPENDS.search(persistence):
        problem = (
            f"redis.durability = {profile}: the server keeps no append-only file, so that a "
            f"restart loses events; set appendonly yes there, or choose {MEMORY}"
        )
        raise ConfigurationError([problem])
    if profile == SYNCED:
        _check_waitaof(connections, until)


def _check_waitaof(connections: RedisConnections, until: float) -> None:
    try:
        connections.ask("WAITAOF", 0, 0, 1, until=until)
    except RefusedCommandError as error:
        raise ConfigurationError(
            [f"redis.durability = {SYNCED}: it takes Redis or Valkey 7.2: {error}"]
        ) from error
