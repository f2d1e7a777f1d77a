"""A member of a consumer group: a reader for each queue, and threads that handle what they read.

The queues of a group have one active consumer each, and it stays so until it leaves. So that a
member that came first does not keep all of them, each looks now and then how many others wait,
and leaves what is more than its share. It goes to the end of the line; who is next, goes on.
"""

import datetime as dt
import logging
import math
import threading
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from pragmatic_ddd_rabbitmq.broker_link import BrokerLink
from pragmatic_ddd_rabbitmq.errors import LinkLostError
from pragmatic_ddd_rabbitmq.handling import Handling
from pragmatic_ddd_rabbitmq.lanes import Lanes
from pragmatic_ddd_rabbitmq.queue_reader import QueueReader

_logger = logging.getLogger(__name__)

_CHECK: Final = dt.timedelta(seconds=5)


@attrs.define(eq=False, kw_only=True)
class Consumer:
    """Consumes the queues of a group until it is closed.

    Attributes:
        group: The consumer group, for people.
        queues: Names of its queues.
        connect: Opens a connection for a purpose, until a reading of the monotonic clock.
        prepare: Makes sure of what the group needs on a new connection, until then.
        handling: Tries messages.
        prefetch: How many messages of each queue may be in this process unacknowledged.
        threads: How many are handled at once.
        connect_timeout: How long connecting may take.
        patience: How long to wait for handlers before a queue is left to another member.
        check: How long between two looks at how many others wait.
    """

    group: str
    queues: Sequence[str]
    connect: Callable[[str, float], BrokerLink]
    prepare: Callable[[BrokerLink, float], None]
    handling: Handling
    prefetch: int
    threads: int
    connect_timeout: dt.timedelta
    patience: dt.timedelta
    check: dt.timedelta = _CHECK
    _lanes: Lanes = attrs.field(init=False)
    _readers: dict[str, QueueReader] = attrs.field(init=False)
    _leaving: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)
    _has_started: bool = attrs.field(default=False, init=False)
    _has_ended: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._lanes = Lanes(is_alone=self.handling.is_alone)
        is_shared = len(self.queues) > 1
        self._readers = {
            queue: QueueReader(
                queue=queue,
                connect=self.connect,
                prepare=self.prepare,
                lanes=self._lanes,
                prefetch=self.prefetch,
                connect_seconds=self.connect_timeout.total_seconds(),
                has_too_many=self._has_too_many,
                check_seconds=self.check.total_seconds() if is_shared else math.inf,
                patience_seconds=self.patience.total_seconds(),
            )
            for queue in self.queues
        }

    def start(self, *, with_broker: bool) -> None:
        """Begin to consume.

        Args:
            with_broker: Whether the broker has to be there; else it may come later.

        Raises:
            LinkLostError: It is not, or refuses something. Nothing has begun.
        """
        try:
            for reader in self._readers.values() if with_broker else ():
                reader.connect_now()
        except LinkLostError:
            self.close(within=dt.timedelta())
            raise
        self._has_started = True
        for reader in self._readers.values():
            reader.start()
        for number in range(1, self.threads + 1):
            name = f"rabbitmq-{self.group}-{number}"
            threading.Thread(target=self._work, name=name, daemon=True).start()

    def close(self, *, within: dt.timedelta) -> None:
        """Take no more messages, let handlers finish, disconnect. A second call does nothing.

        Args:
            within: How long to wait for handlers; what they have in hand then will come again.
        """
        if self._has_ended:
            return
        self._has_ended = True
        self._lanes.close()
        if self._has_started and not self._lanes.is_idle(within=within.total_seconds()):
            _logger.error(
                "consumer of %s: a handler is still at work; its message will come again",
                self.group,
            )
        for reader in self._readers.values():
            reader.end()
        for reader in self._readers.values():
            reader.join()

    def _work(self) -> None:
        while (message := self._lanes.take()) is not None:
            until = self.handling.rest_after(message)
            if until is not None:
                self._lanes.hold(message, until)
                continue
            self._readers[message.queue].done_with(message)
            self._lanes.settled(message)

    def _has_too_many(self, reader: QueueReader, members: int) -> bool:
        """Say whether this process is to leave a queue: one at a time."""
        with self._leaving:
            active = sum(each.is_active for each in self._readers.values())
            if active <= math.ceil(len(self._readers) / max(1, members)):
                return False
            reader.is_leaving = True  # the next one who asks counts without it
            return True
