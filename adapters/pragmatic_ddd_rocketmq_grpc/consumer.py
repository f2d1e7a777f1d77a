"""A consumer: asks for messages, has them handled in the order of each queue, and settles them.

    NEW ──start──▶ RUNNING ──close──▶ CLOSED

    topic receiving ──▶ lanes ──▶ handlers ──▶ acknowledged
    (a thread each)       ▲         │ failed: the lane waits, and is tried again here
                          └─────────┤ given up: a dead letter, confirmed, then acknowledged
                        upkeep: what is in hand stays ours

A message that failed stays with this process, invisible to all others, until its next try; its
invisible time is extended for as long as that takes. Given back instead, it would come again with
all that waits behind it, and the proxy counts each of these as a failed try: in the end it would
take them for poisoned and put them aside, though nobody has ever tried them.
"""

import datetime as dt
import enum
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from pragmatic_ddd.application.events import (
    Failure,
    Redeliveries,
    report_dead_letter,
    report_failed_try,
)
from pragmatic_ddd_rocketmq_grpc.acknowledging import Acknowledging
from pragmatic_ddd_rocketmq_grpc.errors import RocketMqGrpcStartError
from pragmatic_ddd_rocketmq_grpc.lanes import Lane, Lanes
from pragmatic_ddd_rocketmq_grpc.received_message import HeldMessage, ReceivedMessage
from pragmatic_ddd_rocketmq_grpc.receiver import Receiver
from pragmatic_ddd_rocketmq_grpc.topic_receiving import TopicReceiving
from pragmatic_ddd_rocketmq_grpc.upkeep import SETTLING, Upkeep, problems_of

_logger = logging.getLogger(__name__)

_PAUSE_AFTER_ERROR_SECONDS: Final = 1.0
_AT_ONCE: Final = dt.timedelta(seconds=1)


class _State(enum.Enum):
    NEW = "not started"
    RUNNING = "running"
    CLOSED = "shut down"


@attrs.define(eq=False, kw_only=True)
class Consumer:
    """Calls a handler for each message, those of a queue one after the other.

    Attributes:
        receiver: Asks the proxy, and tells it.
        handler: Called with each message, and whether this is its last try; whatever it raises
            means that it failed.
        bury: Called with a message that is given up; whatever it raises keeps the message.
        redeliveries: When a message is tried again, and when it is given up.
        is_final: Whether an error of the handler makes further tries useless.
        threads: How many messages may be handled at once, each of another queue.
    """

    receiver: Receiver
    handler: Callable[[ReceivedMessage, bool], None]
    bury: Callable[[ReceivedMessage, Failure], None]
    redeliveries: Redeliveries
    is_final: Callable[[BaseException], bool]
    threads: int
    _state: _State = attrs.field(default=_State.NEW, init=False)
    _stop: threading.Event = attrs.field(factory=threading.Event, init=False, repr=False)
    _lanes: Lanes = attrs.field(init=False, repr=False)
    _acknowledging: Acknowledging = attrs.field(init=False, repr=False)
    _upkeep: Upkeep = attrs.field(init=False, repr=False)
    _receiving: dict[str, TopicReceiving] = attrs.field(factory=dict, init=False, repr=False)
    _receivers: list[threading.Thread] = attrs.field(factory=list, init=False, repr=False)
    _upkeep_thread: threading.Thread | None = attrs.field(default=None, init=False)
    _pid: int = attrs.field(factory=os.getpid, init=False)
    # Reentrant: a signal handler may close it while the main thread is just starting it.
    _lock: "threading.RLock" = attrs.field(factory=threading.RLock, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._lanes = Lanes(room=self.threads)
        self._acknowledging = Acknowledging(receiver=self.receiver)
        self._upkeep = Upkeep(
            receiver=self.receiver, lanes=self._lanes, acknowledging=self._acknowledging
        )

    def start(self) -> None:
        """Join the group and begin to consume; the proxy may come later.

        Raises:
            RocketMqGrpcStartError: It was started before, here or before a fork.
        """
        with self._lock:
            if self._state is not _State.NEW:
                raise RocketMqGrpcStartError(
                    f"consumer of {self.receiver.group} is {self._state.value}"
                )
            self._pid = os.getpid()
            self._state = _State.RUNNING
            for topic in self.receiver.topics:
                self._receiving[topic] = TopicReceiving(
                    receiver=self.receiver, topic=topic, lanes=self._lanes, stop=self._stop
                )
            for topic, receiving in self._receiving.items():
                self._receivers.append(_started(receiving.run, topic))
            for number in range(self.threads):
                _started(self._work, f"handler-{number}")
            self._upkeep_thread = _started(self._upkeep.run, "upkeep")

    def close(self, *, within: dt.timedelta) -> bool:
        """Take no more messages, wait for the handlers at work, give back the rest, and leave.

        A second call does nothing.

        Args:
            within: How long to wait for the handlers. The end of the requests under way, giving
                back and leaving have bounds of their own: a ``long_poll`` and some 20 s in all.

        Returns:
            Whether every handler has ended; a message whose handler has not comes again when
            its invisible time is over.
        """
        if self._pid != os.getpid():
            return False
        with self._lock:
            if self._state is not _State.RUNNING:
                self._state = _State.CLOSED
                return True
            self._state = _State.CLOSED
        self._stop.set()
        left = self._lanes.close()
        is_idle = self._lanes.wait_until_idle(within=within)
        if not is_idle:
            _logger.error(
                "consumer of %s: a handler is still at work; its message will come again",
                self.receiver.group,
            )
        ended_by = time.monotonic() + (self.receiver.longest_poll + SETTLING).total_seconds()
        for thread in self._receivers:
            thread.join(max(0.0, ended_by - time.monotonic()))
        left += self._lanes.close()  # what came while they ended
        self._acknowledging.finish(within=SETTLING)
        self._upkeep.end()
        if self._upkeep_thread is not None:  # else it might ask for what is just given back
            self._upkeep_thread.join(2 * SETTLING.total_seconds())
        self._give_back(left)
        self.receiver.close()
        return is_idle

    def _work(self) -> None:
        """Handle messages until there are none to come."""
        while (found := self._lanes.next()) is not None:
            lane, held = found
            try:
                self._handle(lane, held)
            except BaseException:  # a thread that handles must not end for one message's sake
                _logger.exception("consumer of %s failed on a message", self.receiver.group)
                self._lanes.failed(lane, not_before=time.monotonic() + _PAUSE_AFTER_ERROR_SECONDS)

    def _handle(self, lane: Lane, held: HeldMessage) -> None:
        message = held.message
        key = message.message_id
        failure = self.redeliveries.given_up(key) or self._tried(message)
        if failure is None or self._buried(message, failure):
            self.redeliveries.settled(key)
            done = self._lanes.settled(lane)
            self._acknowledging.acknowledge(done, ours_until=lane.ours_until)
            return
        self._receiving[message.topic].slow_down()
        self._lanes.failed(lane, not_before=failure.not_before)

    def _tried(self, message: ReceivedMessage) -> Failure | None:
        """Call the handler; return how it failed, if it did."""
        key = message.message_id
        try:
            self.handler(message, self.redeliveries.is_last_try(key))
        except BaseException as error:  # noqa: BLE001  # a handler cannot end the process
            failure = self.redeliveries.failed(key, error, is_final=self.is_final(error))
            if not failure.is_final:
                report_failed_try(_logger, message.where, failure, self.redeliveries)
            return failure
        return None

    def _buried(self, message: ReceivedMessage, failure: Failure) -> bool:
        """Make a dead letter of a message that is given up; say whether it is done."""
        if not failure.is_final:
            return False
        try:
            self.bury(message, failure)
        except Exception:
            self.redeliveries.postpone(failure)
            _logger.exception(
                "%s failed for good and could not be made a dead letter; it blocks its queue, "
                "and will be tried again",
                message.where,
            )
            return False
        report_dead_letter(_logger, message.where, failure)
        return True

    def _give_back(self, messages: Sequence[HeldMessage]) -> None:
        """Have messages that nobody has tried come again at once, elsewhere."""
        problems = problems_of(
            [self.receiver.extend(each, _AT_ONCE) for each in messages], within=SETTLING
        )
        if problems:
            _logger.warning(
                "consumer of %s: %s messages come again only when their time is over: %s",
                self.receiver.group,
                len(problems),
                problems[0],
            )


def _started(work: Callable[[], None], name: str) -> threading.Thread:
    """Return a thread for which the end of the interpreter does not wait."""
    thread = threading.Thread(target=work, name=f"rocketmq-grpc-{name}", daemon=True)
    thread.start()
    return thread
