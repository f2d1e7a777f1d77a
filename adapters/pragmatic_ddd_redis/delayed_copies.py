"""What delayed subscribers are to have later: copies in a stream of their own, until they are due.

    entry ──▶ pragmatic-ddd:<group>:delayed:<stream> ──after the delay──▶ <stream>, at its end

The delay is the same for all, so that the oldest copy is due first, and its id says since when it
waits: by the server's clock. Whoever works on the stream brings them back.
"""

import datetime as dt

import attrs

from pragmatic_ddd.application.events import ReceivedEvent
from pragmatic_ddd.ports.subscribers import Subscriber
from pragmatic_ddd_redis.connections import Command, RedisConnections, checked
from pragmatic_ddd_redis.durability import Confirmation
from pragmatic_ddd_redis.errors import NoAnswerError
from pragmatic_ddd_redis.publisher import xadd
from pragmatic_ddd_redis.scripts import BRING
from pragmatic_ddd_redis.stream_entry import fields_of
from pragmatic_ddd_redis.streams import OWN_KEYS, stream_of

_COPIES_AT_ONCE = 100


@attrs.frozen(kw_only=True)
class DelayedCopies:
    """Keeps copies back, and brings them.

    Attributes:
        connections: The server.
        confirmation: What it takes for a copy to be safe.
        group: The consumer group.
        delay: For how long.
        partitions: How many streams a topic has.
        max_length: About how many entries a stream keeps; all, where ``None``.
        source: Who sends, as the events say it.
    """

    connections: RedisConnections
    confirmation: Confirmation
    group: str
    delay: dt.timedelta
    partitions: int
    max_length: int | None
    source: str

    def keep(self, received: ReceivedEvent, _: Subscriber) -> None:
        """Keep a copy back; return when it is safe.

        Raises:
            NotSentError: It was not kept.
            NoAnswerError: It may have been kept.
            RefusedCommandError: The server refuses; it was not kept.
        """
        message = received.message
        stream = stream_of(received.topic, message.aggregate_id, self.partitions)
        fields = fields_of(message, received.addressee, source=self.source)
        commands = [xadd(self._key(stream), fields, max_length=None)]
        confirmation = self.confirmation.command
        if confirmation is not None:
            commands.append(confirmation)
        answers = self.connections.exchange(commands)
        checked(answers[0])
        shortfall = None if confirmation is None else self.confirmation.shortfall(answers[1])
        if shortfall is not None:
            raise NoAnswerError(shortfall, answers)

    def bring(self, stream: str) -> dt.timedelta | None:
        """Add what is due to its stream.

        Returns:
            Time until the next copy is due; ``None`` where there is none.

        Raises:
            NotSentError: Nothing was brought.
            NoAnswerError: Some may have been brought.
            RefusedCommandError: The server refuses; what was not brought stays.
        """
        delay = int(self.delay.total_seconds() * 1000)
        bound = () if self.max_length is None else ("MAXLEN", "~", self.max_length)
        command: Command = (
            *("EVAL", BRING, 2, self._key(stream), stream),
            *(delay, _COPIES_AT_ONCE, *bound),
        )
        milliseconds = self.connections.ask(*command)
        if not isinstance(milliseconds, int) or milliseconds < 0:
            return None
        return dt.timedelta(milliseconds=milliseconds)

    def _key(self, stream: str) -> str:
        return f"{OWN_KEYS}{self.group}:delayed:{stream}"
