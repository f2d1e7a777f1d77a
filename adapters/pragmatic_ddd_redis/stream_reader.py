"""Reading one stream for a consumer group, by whoever holds its lease.

    take over ──▶ what was given before and not acknowledged ──▶ new entries
                       ▲                                              │
                       └────────────── begin_anew ────────────────────┘

All members of a group go by one name at Redis, because only the one with the lease is given
anything: what a member that is gone has left unacknowledged is simply what its successor is given
first. Entries are read by a script that looks at the lease, so that nobody else is given any.
"""

import datetime as dt
import logging
from typing import Final, cast

import attrs

from pragmatic_ddd_redis.connections import RedisConnections
from pragmatic_ddd_redis.errors import RefusedCommandError
from pragmatic_ddd_redis.lease import StreamLease
from pragmatic_ddd_redis.scripts import READ_AGAIN, READ_NEW, TAKE_OVER
from pragmatic_ddd_redis.stream_entry import StreamEntry

_logger = logging.getLogger(__name__)

CONSUMER: Final = "pragmatic-ddd"
"""The name under which Redis knows whoever works on a stream."""

_BEGINNING = b"0-0"
_END = "$"
_HIGHEST_NUMBER = 2**64 - 1
_NO_GROUP = "NOGROUP"
_NO_STREAM = "no such key"
_GROUP_IS_THERE = "BUSYGROUP"
_SHORTEST_WAIT = dt.timedelta(milliseconds=1)


@attrs.frozen
class Abandoned:
    """The oldest entry that was given to a member and not acknowledged.

    Attributes:
        entry_id: Its id.
        deliveries: How often it was given, to whoever has just taken over included.
    """

    entry_id: bytes
    deliveries: int


@attrs.define(eq=False, kw_only=True)
class StreamReader:
    """Reads a stream. For one thread.

    Attributes:
        connections: The server.
        stream: The stream.
        group: The consumer group.
        start_at: Where a group begins that is new: ``0`` or ``$``.
        lease: Without it nothing is read.
        count: How many entries are read at once.
    """

    connections: RedisConnections
    stream: str
    group: str
    start_at: str
    lease: StreamLease
    count: int
    _reads_again: bool = attrs.field(default=True, init=False)
    _last_id: bytes = attrs.field(default=_BEGINNING, init=False)
    _settled: bytes | None = attrs.field(default=None, init=False)  # that, and all before it

    def make_group(self) -> None:
        """Make sure that stream and group exist.

        Where they were deleted since ``take_over``, a group that begins with what is new goes on
        behind what it has had, and reads a stream that was begun anew from its first entry: what
        was added meanwhile is not skipped.

        Raises:
            NotSentError: The server cannot be reached.
            NoAnswerError: It does not answer.
            RefusedCommandError: It refuses.
        """
        try:
            self.connections.ask(
                *("XGROUP", "CREATE", self.stream, self.group, self._beginning(), "MKSTREAM")
            )
        except RefusedCommandError as error:
            if _GROUP_IS_THERE not in str(error):
                raise

    def take_over(self) -> Abandoned | None:
        """Find out where the group is, and claim what members that are gone have left.

        Returns:
            The oldest entry that one of them had; ``None`` where there is none.

        Raises:
            NotSentError: As for ``make_group``, as do the others.
        """
        self.begin_anew()
        self.make_group()
        answer = self._run(TAKE_OVER)
        if answer is None:
            return None
        last_id, deleted, *oldest = cast("list[bytes | int]", answer)
        self._last_id = cast("bytes", last_id)
        self._settled = _before(cast("bytes", oldest[0])) if oldest else self._last_id
        if deleted:
            _logger.error(
                "%s entries of %s were deleted before group %s has handled them",
                deleted,
                self.stream,
                self.group,
            )
        return Abandoned(*cast("tuple[bytes, int]", tuple(oldest))) if oldest else None

    def begin_anew(self) -> None:
        """Read what is not acknowledged next: it was left, or others may have been at work."""
        self._reads_again = True

    def read(self) -> list[StreamEntry] | None:
        """Return the next entries, possibly none; ``None`` where the lease is lost.

        What was read and is not acknowledged comes again after ``begin_anew`` only.

        Raises:
            NotSentError: As for ``make_group``, as do the others.
        """
        try:
            answer = self._run(READ_AGAIN if self._reads_again else READ_NEW, self.count)
        except RefusedCommandError as error:
            if _NO_GROUP not in str(error):
                raise
            _logger.warning(
                "%s or its group %s was deleted; it is made again", self.stream, self.group
            )
            self.make_group()
            self._last_id = _BEGINNING
            return []
        if answer is None:
            return None
        entries = [_entry(self.stream, found) for found in cast("list[list[object]]", answer)]
        if entries:
            self._last_id = max(self._last_id, entries[-1].id, key=_place)
        elif self._reads_again:
            self._reads_again = False
            return self.read()
        return entries

    def wait(self, longest: dt.timedelta) -> None:
        """Wait until there is more to read.

        Raises:
            NotSentError: As for ``make_group``, as do the others.
        """
        longest = max(longest, _SHORTEST_WAIT)  # zero would mean for ever
        self.connections.ask(
            *("XREAD", "COUNT", 1, "BLOCK", int(longest.total_seconds() * 1000)),
            *("STREAMS", self.stream, self._last_id),
            until=self.connections.deadline(further=longest),
        )

    def acknowledge(self, entry: StreamEntry) -> None:
        """Note at Redis that an entry is done with; also where the lease is lost by now.

        Raises:
            NotSentError: As for ``make_group``, as do the others.
        """
        self.connections.ask("XACK", self.stream, self.group, entry.id)
        self._settled = entry.id

    def _beginning(self) -> str | bytes:
        if self.start_at != _END or self._settled is None:
            return self.start_at
        # A stream never goes back, but a new one may begin below what the deleted one had reached:
        # ids are the server's clock, which may have been set back.
        is_another = _place(self._highest_id()) < _place(self._settled)
        return _BEGINNING if is_another else self._settled

    def _highest_id(self) -> bytes:
        """Return the id of the newest entry that the stream ever had."""
        try:
            answer = self.connections.ask("XINFO", "STREAM", self.stream)
        except RefusedCommandError as error:
            if _NO_STREAM not in str(error):
                raise
            return _BEGINNING
        parts = cast("list[bytes]", answer)
        return parts[parts.index(b"last-generated-id") + 1]

    def _run(self, script: str, *arguments: str | int) -> object:
        """Run a script that needs the lease; ``None`` says that it is lost."""
        answer = self.connections.ask(
            *("EVAL", script, 2, self.lease.key, self.stream),
            *(self.lease.token, self.group, CONSUMER, *arguments),
        )
        if answer is None:
            self.lease.give_up()
        return answer


def _entry(stream: str, found: list[object]) -> StreamEntry:
    """Return an entry as Redis shows it: its id, then names and values in turn."""
    entry_id, parts = cast("tuple[bytes, list[bytes] | None]", tuple(found))
    if parts is None:
        return StreamEntry(stream=stream, id=entry_id, fields=None)
    fields = dict(zip(parts[::2], parts[1::2], strict=True))
    return StreamEntry(stream=stream, id=entry_id, fields=fields)


def _place(entry_id: bytes) -> tuple[int, int]:
    milliseconds, _, number = entry_id.partition(b"-")
    return int(milliseconds), int(number)


def _before(entry_id: bytes) -> bytes:
    """Return the highest id below one."""
    milliseconds, number = _place(entry_id)
    if number:
        return b"%d-%d" % (milliseconds, number - 1)
    return b"%d-%d" % (milliseconds - 1, _HIGHEST_NUMBER)
