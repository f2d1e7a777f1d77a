"""Where entries go that no subscriber could take: a stream of the consumer group's own.

<consumer group>-dead-letter    the fields of the entry as they were, and what happened

A dead letter is an ordinary entry: read it with any client, and add it to its topic again.
"""

import datetime as dt
import re
import traceback
from typing import Final

import attrs

from pragmatic_ddd.application.events import Failure
from pragmatic_ddd_redis.connections import Command, RedisConnections, checked
from pragmatic_ddd_redis.durability import Confirmation
from pragmatic_ddd_redis.errors import NoAnswerError
from pragmatic_ddd_redis.lease import StreamLease
from pragmatic_ddd_redis.scripts import BURY
from pragmatic_ddd_redis.stream_entry import StreamEntry

SUFFIX: Final = "-dead-letter"

ORIGINAL_STREAM: Final = b"dead_letter_stream"
ORIGINAL_ID: Final = b"dead_letter_id"
ATTEMPTS: Final = b"dead_letter_attempts"
ERROR: Final = b"dead_letter_error"
DIED_AT: Final = b"dead_letter_at"

_LONGEST_ERROR = 2000
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")


@attrs.frozen(kw_only=True)
class DeadLetters:
    """Keeps what a consumer group has given up.

    Attributes:
        connections: The server.
        confirmation: What it takes for a letter to be safe.
        group: The consumer group.
    """

    connections: RedisConnections
    confirmation: Confirmation
    group: str

    @property
    def stream(self) -> str:
        """Where they go."""
        return self.group + SUFFIX

    def bury(self, entry: StreamEntry, failure: Failure, lease: StreamLease) -> bool:
        """Add a dead letter and acknowledge the entry, in one step, as long as the lease is held.

        Returns:
            Whether the lease was held; if not, nothing was done.

        Raises:
            NotSentError: Nothing was done.
            NoAnswerError: Unknown whether it was done; doing it again adds no second letter.
            RefusedCommandError: The server refuses; nothing was done.
        """
        burying: list[bytes | str | int] = ["EVAL", BURY, 3, lease.key, entry.stream, self.stream]
        burying += [lease.token, self.group, entry.id]
        burying += _fields(entry, failure)
        commands: list[Command] = [burying]
        confirmation = self.confirmation.command
        if confirmation is not None:
            commands.append(confirmation)
        answers = self.connections.exchange(commands)
        letter = checked(answers[0])
        shortfall = None if confirmation is None else self.confirmation.shortfall(answers[1])
        if letter is not None and shortfall is not None:
            raise NoAnswerError(shortfall, answers)
        return letter is not None


def _fields(entry: StreamEntry, failure: Failure) -> list[bytes]:
    text = "".join(traceback.format_exception_only(failure.error)).strip()
    what_happened = {
        ORIGINAL_STREAM: entry.stream.encode(),
        ORIGINAL_ID: entry.id,
        ATTEMPTS: str(failure.attempts).encode(),
        ERROR: _UNPRINTABLE.sub(" ", text)[:_LONGEST_ERROR].encode(),
        DIED_AT: dt.datetime.now(dt.UTC).isoformat().encode(),
    }
    fields = {**(entry.fields or {}), **what_happened}
    return [part for field in fields.items() for part in field]
