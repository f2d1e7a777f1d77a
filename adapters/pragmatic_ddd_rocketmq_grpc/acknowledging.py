"""Tells the proxy that messages are done with, in the background, until it has heard it.

A message whose acknowledgement is lost blocks its queue until its time is over, and then comes
again. So it is told again while that still helps.
"""

import datetime as dt
import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import wait as wait_for

import attrs

from pragmatic_ddd_rocketmq_grpc.consumer_calls import ReceivingError
from pragmatic_ddd_rocketmq_grpc.received_message import HeldMessage
from pragmatic_ddd_rocketmq_grpc.receiver import Receiver

_logger = logging.getLogger(__name__)


@attrs.frozen
class _Done:
    """A message that is done with, and until when it helps to say so."""

    message: HeldMessage
    ours_until: float


@attrs.define(eq=False, kw_only=True)
class Acknowledging:
    """The acknowledgements that the proxy has not confirmed. Safe to use from many threads.

    Attributes:
        receiver: Tells the proxy.
    """

    receiver: Receiver
    _under_way: "dict[Future[None], _Done]" = attrs.field(factory=dict, init=False)
    _to_repeat: list[_Done] = attrs.field(factory=list, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def acknowledge(self, messages: Sequence[HeldMessage], *, ours_until: float) -> None:
        """Tell the proxy, and do not wait for it.

        Args:
            messages: What is done with.
            ours_until: Reading of the monotonic clock at which it comes again anyway.
        """
        for message in messages:
            self._tell(_Done(message, ours_until))

    def repeat(self) -> None:
        """Tell the proxy again what it did not confirm."""
        with self._lock:
            again, self._to_repeat = self._to_repeat, []
        for done in again:
            if time.monotonic() < done.ours_until:
                self._tell(done)
            else:
                self._give_up(done, "the proxy did not confirm it in time")

    def finish(self, *, within: dt.timedelta) -> None:
        """Wait for the answers to what was told."""
        with self._lock:
            under_way = list(self._under_way)
        wait_for(under_way, timeout=within.total_seconds())

    def _tell(self, done: _Done) -> None:
        future = self.receiver.acknowledge(done.message)
        with self._lock:
            self._under_way[future] = done
        future.add_done_callback(self._told)

    def _told(self, future: "Future[None]") -> None:
        with self._lock:
            done = self._under_way.pop(future)
        try:
            future.result()
        except ReceivingError as error:
            if error.is_too_late:
                self._give_up(done, str(error))
                return
            with self._lock:
                self._to_repeat.append(done)
        except CancelledError:
            self._give_up(done, "this consumer ends")

    def _give_up(self, done: _Done, reason: str) -> None:
        _logger.warning(
            "%s was handled, and may come again: %s", done.message.message.where, reason
        )
