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
from pragmatic_ddd_redis.connections import Command, RedisConnections, checked
from pragmatic_ddd_redis.errors import RefusedCommandError

MEMORY: Final = "memory"
APPEND_ONLY: Final = "append-only"
SYNCED: Final = "synced"
PROFILES: Final = (MEMORY, APPEND_ONLY, SYNCED)

_SECTIONS = ("persistence", "memory", "cluster")
_APPENDS = re.compile(rb"^aof_enabled:1\r?$", re.MULTILINE)
_EVICTS = re.compile(rb"^maxmemory_policy:(allkeys-\w+)\r?$", re.MULTILINE)
_UNLIMITED = re.compile(rb"^maxmemory:0\r?$", re.MULTILINE)
_IN_CLUSTER = re.compile(rb"^cluster_enabled:1\r?$", re.MULTILINE)
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
    """Refuse a server whose settings give less than a profile asks for, and one of a cluster.

    Args:
        connections: The server.
        profile: One of ``PROFILES``.
        until: When to stop waiting, as a reading of the monotonic clock.

    Raises:
        ConfigurationError: They do, or it cannot be found out; says what helps.
        NotSentError: It cannot be reached.
        NoAnswerError: It does not answer.
    """
    settings = _settings(connections, profile, until)
    if _IN_CLUSTER.search(settings):
        problem = (
            "redis.url: a server of a Redis Cluster, which is not supported: a stream is on one "
            "server, with its leases and dead letters"
        )
        raise ConfigurationError([problem])
    if profile == MEMORY:
        return
    if not _APPENDS.search(settings):
        problem = (
            f"redis.durability = {profile}: the server keeps no append-only file, so that a "
            f"restart loses events; set appendonly yes there, or choose {MEMORY}"
        )
        raise ConfigurationError([problem])
    policy = _EVICTS.search(settings)
    if policy is not None and not _UNLIMITED.search(settings):
        problem = (
            f"redis.durability = {profile}: the server deletes whole streams when its memory is "
            f"full (maxmemory-policy {policy[1].decode()}); set noeviction there, or choose "
            f"{MEMORY}"
        )
        raise ConfigurationError([problem])
    if profile == SYNCED:
        _check_waitaof(connections, until)


def _settings(connections: RedisConnections, profile: str, until: float) -> bytes:
    """Return what the server tells of itself; nothing where no profile depends on it."""
    answers = connections.exchange([("INFO", section) for section in _SECTIONS], until=until)
    try:
        return b"".join(each for each in map(checked, answers) if isinstance(each, bytes))
    except RefusedCommandError as error:
        if profile == MEMORY:
            return b""
        raise ConfigurationError(
            [f"redis.durability = {profile}: the server does not tell (INFO): {error}"]
        ) from error


def _check_waitaof(connections: RedisConnections, until: float) -> None:
    try:
        connections.ask("WAITAOF", 0, 0, 1, until=until)
    except RefusedCommandError as error:
        raise ConfigurationError(
            [f"redis.durability = {SYNCED}: it takes Redis or Valkey 7.2: {error}"]
        ) from error
