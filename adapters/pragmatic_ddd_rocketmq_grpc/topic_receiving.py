"""Asks for the messages of one topic, again and again, on a thread of its own.

All brokers of the topic are asked at once, and what one brings is handed over at once. Nothing is
asked for while there is no room: what waits here cannot be handled elsewhere.

A batch begins with one message and doubles while all goes well. The proxy counts each time that
it gives a message out, tried or not, and in the end takes it for poisoned. So behind a message
that fails, or that ends its process, the others come one by one, and are not counted with it.
"""

import datetime as dt
import logging
import threading
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future
from concurrent.futures import wait as wait_for
from typing import Final

import attrs

from pragmatic_ddd_rocketmq_grpc.answers import DEAF
from pragmatic_ddd_rocketmq_grpc.consumer_calls import Batch, ReceivingError
from pragmatic_ddd_rocketmq_grpc.errors import SEND_ERRORS
from pragmatic_ddd_rocketmq_grpc.lanes import Lanes
from pragmatic_ddd_rocketmq_grpc.receiver import Receiver

_logger = logging.getLogger(__name__)

LARGEST_BATCH: Final = 32
_NOTHING: Final = dt.timedelta()
_GLANCE: Final = dt.timedelta(seconds=0.5)
_SHORTEST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 2.0
_PAUSE_WHILE_DEAF_SECONDS: Final = 0.3
_PAUSE_WHILE_UNORDERED_SECONDS: Final = 30.0
_FAILURES_TO_TELL: Final = 3  # the first may be answered too early
_WAIT_FOR_SETTINGS: Final = dt.timedelta(seconds=0.3)
_MARGIN_SECONDS: Final = 1.0  # by which a message may be in hand for shorter than it was asked for


@attrs.define(eq=False, kw_only=True)
class TopicReceiving:
    """Brings the messages of a topic into the lanes.

    Attributes:
        receiver: Asks the proxy.
        topic: The topic.
        lanes: Where the messages go.
        stop: Set when it is to end.
    """

    receiver: Receiver
    topic: str
    lanes: Lanes
    stop: threading.Event
    _under_way: "dict[str, Future[Batch]]" = attrs.field(factory=dict, init=False)
    _batch: int = attrs.field(default=1, init=False)
    _pause_seconds: float = attrs.field(default=0.0, init=False)
    _failures_in_a_row: int = attrs.field(default=0, init=False)

    def run(self) -> None:
        """Receive until it is stopped; whatever fails is logged once, and tried again."""
        try:
            while not self.stop.wait(self._pause_seconds):
                self._receive()
        finally:
            self._end()

    def slow_down(self) -> None:
        """Begin with single messages again: one has failed."""
        self._batch = 1

    def _end(self) -> None:
        """Ask for no more, and hand over what still comes, to be given back.

        A request that is given up goes on at the broker, and takes a message that nobody gets
        before its time is over. So those under way are waited for.
        """
        longest = self.receiver.longest_poll.total_seconds() + _MARGIN_SECONDS
        wait_for(self._under_way.values(), timeout=longest)
        for future in self._under_way.values():
            future.cancel()
            if not future.cancelled() and future.exception() is None:
                self._arrived(future.result())

    def _receive(self) -> None:
        try:
            if self._is_in_order():
                self._ask()
            self._take()
        except ReceivingError as error:
            self._failed(error)
            if error.is_deaf:
                self._pause_seconds = _PAUSE_WHILE_DEAF_SECONDS
            self.receiver.failed(error)
        except SEND_ERRORS as error:  # of the route
            self._failed(error)
        except Exception:
            _logger.exception("topic %s: an unexpected error", self.topic)
            self._pause_seconds = _LONGEST_PAUSE_SECONDS

    def _is_in_order(self) -> bool:
        """Say whether to ask: never where the proxy gives out what is behind a failed message."""
        is_ordered = self.receiver.is_ordered(within=_WAIT_FOR_SETTINGS)
        if is_ordered:
            return True
        self.receiver.sources(self.topic)  # the proxy is told of this client on the way
        if is_ordered is None:
            raise ReceivingError(DEAF, "the proxy has not sent its settings")
        _logger.error(
            "nothing is consumed from topic %s: group %s is not orderly, so its messages would "
            "overtake each other; mqadmin updateSubGroup ... -g %s -o true",
            self.topic,
            self.receiver.group,
            self.receiver.group,
        )
        self._pause_seconds = _PAUSE_WHILE_UNORDERED_SECONDS
        self.receiver.renew()
        return False

    def _ask(self) -> None:
        if not self.lanes.wait_for_room(within=_NOTHING if self._under_way else _GLANCE):
            return
        for broker, queue in self.receiver.sources(self.topic).items():
            if broker not in self._under_way:
                self._under_way[broker] = self.receiver.receive(self.topic, queue, self._batch)

    def _take(self) -> None:
        done = wait_for(
            self._under_way.values(), timeout=_GLANCE.total_seconds(), return_when=FIRST_COMPLETED
        ).done
        finished = [broker for broker, future in self._under_way.items() if future in done]
        for broker in finished:
            try:
                batch = self._under_way.pop(broker).result()
            except CancelledError as error:
                if self.stop.is_set():
                    return
                raise ReceivingError("CANCELLED", "the connection was closed") from error
            self._arrived(batch)

    def _arrived(self, batch: Batch) -> None:
        self.receiver.heard()
        if self._failures_in_a_row >= _FAILURES_TO_TELL:
            _logger.info("messages of topic %s are received again", self.topic)
        self._failures_in_a_row = 0
        self._pause_seconds = 0.0
        if not batch.messages:
            return
        ours = self.receiver.invisible_time.total_seconds() - _MARGIN_SECONDS
        is_well = all(each.message.delivery_attempt == 1 for each in batch.messages)
        self._batch = min(self._batch * 2, LARGEST_BATCH) if is_well else 1
        self.lanes.arrived(batch.messages, ours_until=batch.arrived_at + ours)

    def _failed(self, error: Exception) -> None:
        self._failures_in_a_row += 1
        if self._failures_in_a_row == _FAILURES_TO_TELL:
            _logger.warning("no messages of topic %s can be received now: %s", self.topic, error)
        doubled = max(_SHORTEST_PAUSE_SECONDS, self._pause_seconds * 2)
        self._pause_seconds = min(doubled, _LONGEST_PAUSE_SECONDS)
