"""Sending the claimed messages of many aggregates in one call, each aggregate's in order.

aggregate 1   a ── b ── c
aggregate 2   d ── e          one call with a, d, f; when all are answered, one with b, e; then c
aggregate 3   f
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeGuard

import attrs

from pragmatic_ddd.application.outbox.answers import Answers, is_of_a_person
from pragmatic_ddd.application.outbox.delivery import LaneDelivery, ends_in_lease, lanes
from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.application.outbox.task import StartTask
from pragmatic_ddd.errors import BrokerUnavailableError, EventUnconfirmedError
from pragmatic_ddd.ports.events import IPipelinedEventPublisher, IStoredEventPublisher
from pragmatic_ddd.ports.outbox_message import ClaimedMessage

_logger = logging.getLogger(__name__)

_Lane = deque[ClaimedMessage]


def is_pipelined(publisher: IStoredEventPublisher) -> TypeGuard[IPipelinedEventPublisher]:
    """Say whether an event manager takes many messages in one call."""
    return callable(getattr(type(publisher), "publish_many", None))


@attrs.frozen(kw_only=True)
class WaveDelivery:
    """Sends wave by wave: after a failure the rest of that aggregate goes back untried.

    Attributes:
        publisher: Where messages go.
        answers: What becomes of them.
        monotonic: The clock of the deadlines, in seconds.
    """

    publisher: IPipelinedEventPublisher
    answers: Answers
    monotonic: Callable[[], float] = time.monotonic
    _longest_call_seconds: float = attrs.field(init=False)

    @_longest_call_seconds.default
    def _longest_call_of_the_publisher(self) -> float:
        return self.publisher.longest_call.total_seconds()

    def deliver_all(
        self, claimed: Sequence[ClaimedMessage], *, stopped: Callable[[], bool]
    ) -> Settlement:
        """Send them and return what became of each. Never raises for one aggregate's sake.

        Stops before a wave when ``stopped`` says so, and at Ctrl-C, which it notes: what is not
        answered by then goes back untried, as does what might end after its lease.
        """
        outcome = Settlement()
        waiting = [deque(lane) for lane in lanes(claimed)]
        try:
            while waiting and not stopped():
                waiting = self._send_wave(waiting, outcome)
        except Exception as error:  # what breaks its contract must not undo what was sent
            _logger.exception("outbox %s failed: the rest goes back", self.answers.path)
            outcome.failed += [
                self.answers.put_off(lane[0], error)
                for lane in waiting
                if lane and not outcome.tried([lane[0]])
            ]
        except KeyboardInterrupt as interrupt:  # a person's: what was sent is to be marked first
            outcome.interrupt = interrupt
        outcome.untried += outcome.missing(claimed)
        return outcome

    def _send_wave(self, waiting: Sequence[_Lane], outcome: Settlement) -> list[_Lane]:
        """Send the first message of each aggregate; return the aggregates that go on."""
        wave = [lane for lane in waiting if self._may_be_sent(lane[0], outcome)]
        answers = self._publish([lane[0] for lane in wave]) if wave else []
        going_on = []
        for lane, answer in zip(wave, answers, strict=True):
            if self._note(lane[0], answer, outcome):
                lane.popleft()
                if lane:
                    going_on.append(lane)
        return going_on

    def _note(self, claimed: ClaimedMessage, answer: object, outcome: Settlement) -> bool:
        """Note one answer; metrics that fail must not take the others' receipts with them."""
        try:
            return self.answers.note(claimed, answer, outcome)
        except Exception as error:
            _logger.exception("outbox %s failed: the rest goes back", self.answers.path)
            if not outcome.tried([claimed]):
                outcome.failed.append(self.answers.put_off(claimed, error))
            return False

    def _may_be_sent(self, claimed: ClaimedMessage, outcome: Settlement) -> bool:
        if self.answers.bury_spent(claimed, outcome):
            return False
        return ends_in_lease(claimed, self._longest_call_seconds, self.monotonic())

    def _publish(self, claimed: Sequence[ClaimedMessage]) -> Sequence[object]:
        """Return one answer for each message, whatever the event manager does."""
        try:
            answers = list(self.publisher.publish_many([one.message for one in claimed]))
        except BaseException as error:  # also of code that breaks the port's contract
            if is_of_a_person(error):
                raise
            if isinstance(error, BrokerUnavailableError):
                return [error] * len(claimed)
            _logger.exception("outbox %s: publish_many raised", self.answers.path)
            return _unconfirmed(claimed, f"publish_many raised {type(error).__name__}")
        if len(answers) == len(claimed):
            return answers
        reason = f"publish_many gave {len(answers)} answers to {len(claimed)} messages"
        _logger.error("outbox %s: %s", self.answers.path, reason)
        return _unconfirmed(claimed, reason)


Delivery = LaneDelivery | WaveDelivery


def delivery_through(
    publisher: IStoredEventPublisher,
    answers: Answers,
    monotonic: Callable[[], float],
    start: StartTask,
) -> Delivery:
    """Return what sends through an event manager: many in one call, where it can do that."""
    if is_pipelined(publisher):
        return WaveDelivery(publisher=publisher, answers=answers, monotonic=monotonic)
    return LaneDelivery(publisher=publisher, answers=answers, monotonic=monotonic, start=start)


def _unconfirmed(claimed: Sequence[ClaimedMessage], reason: str) -> list[EventUnconfirmedError]:
    """Return what becomes of a wave whose answers are not known: it is no single one's fault."""
    return [
        EventUnconfirmedError(one.message.message_id, one.message.event_type, reason)
        for one in claimed
    ]
