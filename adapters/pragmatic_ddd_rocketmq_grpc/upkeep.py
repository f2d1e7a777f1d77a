"""Keeps what is in hand with this process, and repeats acknowledgements that were not heard.

Every half second, until the consumer has settled everything: also while its shutdown waits for the
handlers at work, whose messages are still theirs.
"""

import datetime as dt
import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import wait as wait_for
from typing import Final

import attrs

from pragmatic_ddd_rocketmq_grpc.acknowledging import Acknowledging
from pragmatic_ddd_rocketmq_grpc.consumer_calls import ReceivingError
from pragmatic_ddd_rocketmq_grpc.lanes import Lane, Lanes
from pragmatic_ddd_rocketmq_grpc.receiver import Receiver

_logger = logging.getLogger(__name__)

SETTLING: Final = dt.timedelta(seconds=3)
"""How long an answer of the proxy to what became of messages is waited for."""

_NOTHING: Final = dt.timedelta()
_PERIOD_SECONDS: Final = 0.5
_MARGIN_SECONDS: Final = 1.0  # by which a message may be in hand for shorter than it was asked for


@attrs.define(eq=False, kw_only=True)
class Upkeep:
    """What has to be done now and then for the messages in hand.

    Attributes:
        receiver: Tells the proxy.
        lanes: The messages in hand.
        acknowledging: The acknowledgements that the proxy has not confirmed.
    """

    receiver: Receiver
    lanes: Lanes
    acknowledging: Acknowledging
    _is_over: threading.Event = attrs.field(factory=threading.Event, init=False, repr=False)

    def run(self) -> None:
        """Do it until ``end``."""
        while not self._is_over.wait(_PERIOD_SECONDS):
            try:
                self._extend_lanes()
                self.acknowledging.repeat()
            except Exception:
                _logger.exception("consumer of %s: upkeep failed", self.receiver.group)

    def end(self) -> None:
        """Do nothing any more: what is still in hand comes again when its time is over."""
        self._is_over.set()

    def _extend_lanes(self) -> None:
        """Ask for all lanes at once: one that gets no answer must not hold up the others."""
        invisible = self.receiver.invisible_time
        ours_until = time.monotonic() + invisible.total_seconds() - _MARGIN_SECONDS
        asked = [
            (lane, [self.receiver.extend(each, invisible) for each in self.lanes.in_hand(lane)])
            for lane in self.lanes.to_extend(within=invisible / 2)
        ]
        every = [future for _, futures in asked for future in futures]
        wait_for(every, timeout=SETTLING.total_seconds())
        for lane, futures in asked:
            if _all_well(futures, lane):
                self.lanes.extended(lane, ours_until=ours_until)


def problems_of(futures: "Sequence[Future[None]]", *, within: dt.timedelta) -> list[str]:
    """Wait for answers, and return what went wrong.

    Args:
        futures: The questions.
        within: How long to wait.
    """
    done, left = wait_for(futures, timeout=within.total_seconds())
    problems = ["no answer"] * len(left)
    for future in done:
        try:
            future.result()
        except (ReceivingError, CancelledError) as error:
            problems.append(f"{type(error).__name__}: {error}")
    return problems


def _all_well(futures: "Sequence[Future[None]]", lane: Lane) -> bool:
    """Say whether the proxy has confirmed all; where it has not, it is asked again soon."""
    problems = problems_of(futures, within=_NOTHING)
    if problems:
        _logger.warning(
            "what is in hand of %s is not confirmed to stay there: %s", lane.queue, problems[0]
        )
    return not problems
