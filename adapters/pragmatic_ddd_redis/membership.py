"""Who belongs to a consumer group, and which of them works on which stream.

Every member says now and then that it is there, and is told who else is. Each counts for itself:

    members a, b, c, in the order of their names;  stream 0 ──▶ a   1 ──▶ b   2 ──▶ c   3 ──▶ a

Members may count differently for a moment. Then a stream is nobody's for that moment: a lease, and
not this count, says who may work on it.
"""

import datetime as dt
import logging
import secrets
import threading
import zlib
from collections.abc import Mapping, Sequence

import attrs

from pragmatic_ddd_redis.connections import Command, RedisConnections
from pragmatic_ddd_redis.errors import NoAnswerError, NotSentError, said
from pragmatic_ddd_redis.lease import StreamLease
from pragmatic_ddd_redis.scripts import JOIN
from pragmatic_ddd_redis.streams import OWN_KEYS

_logger = logging.getLogger(__name__)

_BEATS_PER_LEASE = 4
_LONGEST_INTERVAL_SECONDS = 1.0
_SECONDS_TO_END = 5.0


@attrs.define(eq=False, kw_only=True)
class GroupMembership:
    """One member of a group: a thread that says that it is there, and renews its leases.

    Attributes:
        connections: The server.
        group: The consumer group.
        topics: What it consumes.
        leases: What is to be renewed, where it is held.
        duration: After which a member that says nothing is taken to be gone.
    """

    connections: RedisConnections
    group: str
    topics: Sequence[str]
    leases: Sequence[StreamLease]
    duration: dt.timedelta
    _name: bytes = attrs.field(factory=lambda: secrets.token_hex(16).encode(), init=False)
    _members: Mapping[str, Sequence[bytes]] = attrs.field(factory=dict, init=False)
    _leaving: threading.Event = attrs.field(factory=threading.Event, init=False, repr=False)
    _thread: threading.Thread | None = attrs.field(default=None, init=False, repr=False)
    _is_in_trouble: bool = attrs.field(default=False, init=False)

    @property
    def interval_seconds(self) -> float:
        """How often it says so, in seconds."""
        return min(self.duration.total_seconds() / _BEATS_PER_LEASE, _LONGEST_INTERVAL_SECONDS)

    def start(self) -> None:
        """Join, and stay until ``leave``."""
        self._say_that_it_is_there()
        self._thread = threading.Thread(
            target=self._stay, name=f"redis-membership-{self.group}", daemon=True
        )
        self._thread.start()

    def leave(self) -> None:
        """Let the others have the streams; leases that are still held expire by themselves."""
        self._leaving.set()
        if self._thread is not None:
            self._thread.join(_SECONDS_TO_END)
        commands: list[Command] = [("ZREM", self._key(topic), self._name) for topic in self.topics]
        try:
            self.connections.exchange(commands)
        except (NotSentError, NoAnswerError) as error:
            _logger.info("a member of %s left without a word to the server: %s", self.group, error)

    def has(self, topic: str, partition: int) -> bool:
        """Say whether a stream is this member's to work on, as far as it knows."""
        members = self._members.get(topic, ())
        if self._name not in members:
            return False
        # Topics begin with different members, so that the first one does not get all of them.
        place = (zlib.crc32(topic.encode()) + partition) % len(members)
        return members[place] == self._name

    def _stay(self) -> None:
        while not self._leaving.wait(self.interval_seconds):
            self._say_that_it_is_there()

    def _say_that_it_is_there(self) -> None:
        try:
            self._beat()
        except Exception:
            _logger.exception("a member of %s could not say that it is there", self.group)

    def _beat(self) -> None:
        milliseconds = int(self.duration.total_seconds() * 1000)
        joining: list[Command] = [
            ("EVAL", JOIN, 1, self._key(topic), self._name, milliseconds) for topic in self.topics
        ]
        renewals = [(lease, lease.renewal()) for lease in self.leases]
        held = [(lease, renewal) for lease, renewal in renewals if renewal is not None]
        try:
            answers = self.connections.exchange(
                [*[renewal.command for _, renewal in held], *joining]
            )
        except (NotSentError, NoAnswerError) as error:
            self._note_trouble(str(error))
            return
        for (lease, renewal), answer in zip(held, answers, strict=False):
            lease.renewed(renewal, answer)
        self._note_members(answers[len(held) :])

    def _note_members(self, answers: Sequence[object]) -> None:
        members: dict[str, Sequence[bytes]] = {}
        for topic, answer in zip(self.topics, answers, strict=True):
            if isinstance(answer, Exception):
                self._note_trouble(said(answer))
                return
            members[topic] = sorted(answer) if isinstance(answer, list) else ()
        self._members = members
        if self._is_in_trouble:
            self._is_in_trouble = False
            _logger.info("a member of %s is heard again", self.group)

    def _note_trouble(self, reason: str) -> None:
        """Log the beginning of a trouble, not each moment of it."""
        if not self._is_in_trouble:
            self._is_in_trouble = True
            _logger.warning(
                "a member of %s cannot say that it is there; unless that ends within %s, others "
                "take over its streams: %s",
                self.group,
                self.duration,
                reason,
            )

    def _key(self, topic: str) -> str:
        return f"{OWN_KEYS}{self.group}:members:{topic}"
