"""Sending the claimed messages of one aggregate in order: shared by eager path and relay."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

import attrs

from pragmatic_ddd.application.outbox.answers import Answers, is_of_a_person
from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.application.outbox.task import StartTask, Task, start_task
from pragmatic_ddd.ports.events import IStoredEventPublisher
from pragmatic_ddd.ports.outbox_message import ClaimedMessage

_logger = logging.getLogger(__name__)


def lanes(claimed: Iterable[ClaimedMessage]) -> list[list[ClaimedMessage]]:
    """Group messages by aggregate, keeping their order within each.

    Messages without a version keep no promised order; they are still sent one after another.
    """
    by_aggregate: dict[tuple[str, str], list[ClaimedMessage]] = {}
    for one in claimed:
        by_aggregate.setdefault(one.message.aggregate, []).append(one)
    return list(by_aggregate.values())


def ends_in_lease(claimed: ClaimedMessage, longest_call_seconds: float, now: float) -> bool:
    """Say whether a send that begins now ends before the lease, whatever the broker does."""
    return now + longest_call_seconds < claimed.deadline


@attrs.frozen(kw_only=True)
class LaneDelivery:
    """Sends lanes: after a failure the rest of that aggregate goes back untried.

    Safe to use from many threads, for different aggregates.

    Attributes:
        publisher: Where messages go.
        answers: What becomes of them.
        monotonic: The clock of the deadlines, in seconds.
        start: Has sends done in other threads, beside those of the caller.
    """

    publisher: IStoredEventPublisher
    answers: Answers
    monotonic: Callable[[], float] = time.monotonic
    start: StartTask = start_task
    _longest_call_seconds: float = attrs.field(init=False)

    @_longest_call_seconds.default
    def _longest_call_of_the_publisher(self) -> float:
        return self.publisher.longest_call.total_seconds()

    def deliver(self, lane: Sequence[ClaimedMessage], *, stopped: Callable[[], bool]) -> Settlement:
        """Send the messages of one aggregate in order and return what became of each.

        Stops, giving back the rest untried, at the first failure, when ``stopped`` says so,
        before a send that might end after the lease, and at Ctrl-C, which it notes.
        """
        outcome = Settlement()
        self._deliver(lane, outcome, stopped)
        return outcome

    def deliver_all(
        self, claimed: Sequence[ClaimedMessage], *, stopped: Callable[[], bool]
    ) -> Settlement:
        """Send many aggregates, as many side by side as the publisher can take.

        Returns when every message has an outcome. Never raises for one aggregate's sake. Ctrl-C
        stops every aggregate, and is noted in the outcome; a second one goes on at once.
        """
        outcome = Settlement()
        waiting = deque(lanes(claimed))

        def is_stopped() -> bool:
            return outcome.interrupt is not None or stopped()

        def work() -> None:
            own = Settlement()
            try:
                while (lane := _next_of(waiting)) is not None:
                    self._deliver(lane, own, is_stopped)
                    if own.interrupt is not None:
                        outcome.interrupt = own.interrupt
            finally:
                outcome.add(own)

        tasks: list[Task] = []
        try:
            self._begin(tasks, work, most=min(self._side_by_side(), len(waiting)))
            work()
        except KeyboardInterrupt as interrupt:  # between two aggregates: the others are to stop
            outcome.interrupt = interrupt
        for task in tasks:
            _join(task, outcome)
        if len(outcome) < len(claimed):
            outcome.untried += outcome.missing(claimed)
        return outcome

    def _begin(self, tasks: list[Task], work: Callable[[], None], *, most: int) -> None:
        """Have the work done beside this thread, by as many others as there are to be had."""
        for number in range(1, most):
            task = Task(f"outbox-{self.answers.path}-send-{number}", work)
            tasks.append(task)  # first: Ctrl-C may come while it begins
            if not task.begin(self.start):
                _logger.warning(
                    "outbox %s sends with %d threads instead of %d: no more can be started",
                    self.answers.path,
                    number,
                    most,
                )
                return

    def _side_by_side(self) -> int:
        """Return how many sends the publisher says that it takes: one, where it cannot say."""
        try:
            said: object = self.publisher.side_by_side
        except Exception:  # what is claimed has to be sent or given back all the same
            _logger.exception("outbox %s sends one by one: side_by_side failed", self.answers.path)
            return 1
        if isinstance(said, int):
            return said
        _logger.error("outbox %s sends one by one: side_by_side is %r", self.answers.path, said)
        return 1

    def _deliver(
        self, lane: Sequence[ClaimedMessage], outcome: Settlement, stopped: Callable[[], bool]
    ) -> None:
        """Add what becomes of one aggregate to an outcome that this thread alone fills."""
        tried = 0
        try:
            for claimed in lane:
                if stopped():
                    break
                if not ends_in_lease(claimed, self._longest_call_seconds, self.monotonic()):
                    break
                is_sent = self._send(claimed, outcome)
                tried += 1
                if not is_sent:
                    break
        except Exception as error:  # what breaks its contract must not undo what was sent
            _logger.exception(
                "outbox %s failed: the rest of the aggregate goes back", self.answers.path
            )
            tried = outcome.tried(lane)
            if tried < len(lane) and not outcome.has_failed(lane):
                outcome.failed.append(self.answers.put_off(lane[tried], error))
                tried += 1
        except KeyboardInterrupt as interrupt:  # a person's: what was sent is to be marked first
            outcome.interrupt = interrupt
            tried = outcome.tried(lane)
        if tried < len(lane):
            outcome.untried += lane[tried:]

    def _send(self, claimed: ClaimedMessage, outcome: Settlement) -> bool:
        """Send one message, note what became of it, and return whether it was confirmed."""
        if self.answers.bury_spent(claimed, outcome):
            return False
        answer: object
        try:
            answer = self.publisher.publish_stored(claimed.message)
        except BaseException as error:
            # Code of an adapter or a subscriber that breaks the port's contract, sys.exit()
            # included: it must not take the other aggregates, or a thread, down with it.
            if is_of_a_person(error):
                raise
            answer = error
        return self.answers.note(claimed, answer, outcome)


def _next_of(waiting: deque[list[ClaimedMessage]]) -> list[ClaimedMessage] | None:
    try:
        return waiting.popleft()
    except IndexError:  # others were faster
        return None


def _join(task: Task, outcome: Settlement) -> None:
    """Wait for another thread's sends, also after Ctrl-C: the one in hand may be confirmed."""
    while task.is_alive():
        try:
            task.join()
        except KeyboardInterrupt as interrupt:
            if outcome.interrupt is not None:
                raise  # a person who does not want to wait
            outcome.interrupt = interrupt
