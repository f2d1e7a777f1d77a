"""Commits of what is done: one at a time, beside the work, and to the end before a partition goes.

A commit waits for its broker as long as that is away. So the thread that polls never waits for
one, except where partitions are about to go to another member: there the coordinator has just
been heard.
"""

import logging
import time
from collections.abc import Collection, Iterable, Sequence

import attrs
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from pragmatic_ddd_kafka.partition_progress import PartitionProgress, Positions
from pragmatic_ddd_kafka.record import Place, Position

_logger = logging.getLogger(__name__)

_NO_OFFSET = KafkaError._NO_OFFSET  # noqa: SLF001 - so the client names its own codes
_INTERVAL_SECONDS = 1.0
_PAUSE_AFTER_FAILURE_SECONDS = 1.0
_PAUSE_AT_THE_END_SECONDS = 0.2
_ANSWER_BOUND_SECONDS = 2.0
_REBALANCE_BOUND_SECONDS = 5.0
_GLANCE_SECONDS = 0.05


@attrs.define(eq=False)
class OffsetCommits:
    """Commits what one consumer has done.

    Attributes:
        name: The consumer's, for the log.
        progress: What is done.
    """

    name: str
    progress: PartitionProgress
    _under_way: dict[Place, Position] | None = attrs.field(default=None, init=False)
    _is_finishing: bool = attrs.field(default=False, init=False)
    _not_before: float = attrs.field(default=0.0, init=False)
    _last: float = attrs.field(factory=time.monotonic, init=False)

    @property
    def can_begin(self) -> bool:
        """Whether there is something to commit, and nothing in the way."""
        if self._under_way is not None or not self.progress.has_done:
            return False
        return time.monotonic() >= self._not_before

    def begin(self, client: Consumer, *, is_idle: bool) -> None:
        """Begin a commit of all that is done, if one may begin and is due; never waits.

        Args:
            client: The consumer's.
            is_idle: Whether there is nothing else to do; else one is due every second.
        """
        if not self.can_begin:
            return
        if is_idle or time.monotonic() - self._last >= _INTERVAL_SECONDS:
            self._begin(client)

    def answered(self, error: KafkaError | None, partitions: Sequence[TopicPartition]) -> None:
        """Note the answer to a commit; called by the client, while it polls."""
        if self._is_finishing:  # that one has its answer as a result
            return
        positions, self._under_way = self._under_way or {}, None
        refused = _refused(partitions)
        if error is not None and error.code() != _NO_OFFSET and not refused:
            refused = dict.fromkeys(positions, error.str())
        if refused:
            self._note_refusal({place: positions[place] for place in refused if place in positions})
            _logger.warning(
                "%s could not commit %s; it is tried again, or comes again elsewhere",
                self.name,
                "; ".join(f"{place[0]}/{place[1]}: {why}" for place, why in refused.items()),
            )

    def finish(self, client: Consumer, places: Collection[Place]) -> None:
        """Commit what is done of these partitions, and wait for it."""
        positions = self.progress.take_done(places)
        under_way = self._under_way or {}
        positions = {place: under_way[place] for place in places if place in under_way} | positions
        if not positions:
            return
        self._is_finishing = True
        try:
            answers = client.commit(offsets=_partitions(positions), asynchronous=False)
            refused = _refused(answers)
        except KafkaException as error:
            refused = dict.fromkeys(positions, error.args[0].str())
        finally:
            self._is_finishing = False
        if refused:
            _logger.warning("%s could not commit before a rebalance: %s", self.name, refused)

    def forget(self, places: Iterable[Place]) -> None:
        """Forget partitions that are another member's: what is refused is not tried again here."""
        for place in places:
            if self._under_way is not None:
                self._under_way.pop(place, None)

    def finish_in_time(self, client: Consumer) -> None:
        """Commit all that is done, at the end; wait for it within a bound.

        A rebalance that is under way has commits refused until this member has taken part in it,
        which it does while it is polled: that takes as long as the others need to hear of it.
        Records that come meanwhile are not taken: they come again.
        """
        begun = time.monotonic()
        self._wait(client, begun + _ANSWER_BOUND_SECONDS)
        while self.progress.has_done and time.monotonic() < begun + _REBALANCE_BOUND_SECONDS:
            if self._under_way is not None:  # nobody answers
                break
            self._begin(client)
            self._wait(client, time.monotonic() + _ANSWER_BOUND_SECONDS)
            self._let_pass(client, time.monotonic() + _PAUSE_AT_THE_END_SECONDS)
        if self.progress.has_done or self._under_way is not None:
            _logger.warning("%s ends before all was committed; that comes again", self.name)

    def _begin(self, client: Consumer) -> None:
        positions = self.progress.take_done()
        self._under_way = positions
        self._last = time.monotonic()
        try:
            client.commit(offsets=_partitions(positions), asynchronous=True)
        except KafkaException as error:
            self._under_way = None
            self._note_refusal(positions)
            _logger.warning("%s could not commit: %s", self.name, error.args[0].str())

    def _note_refusal(self, positions: Positions) -> None:
        self.progress.give_back(positions)
        self._not_before = time.monotonic() + _PAUSE_AFTER_FAILURE_SECONDS

    def _wait(self, client: Consumer, deadline: float) -> None:
        while self._under_way is not None and time.monotonic() < deadline:
            client.poll(_GLANCE_SECONDS)

    def _let_pass(self, client: Consumer, until: float) -> None:
        """Poll for a moment, if a commit was refused."""
        while self.progress.has_done and time.monotonic() < until:
            client.poll(_GLANCE_SECONDS)


def _refused(partitions: Sequence[TopicPartition]) -> dict[Place, str]:
    """Return why partitions were not committed; empty where all were."""
    return {
        (each.topic, each.partition): each.error.str()
        for each in partitions
        if each.error is not None and each.error.code() != _NO_OFFSET
    }


def _partitions(positions: Positions) -> list[TopicPartition]:
    return [
        TopicPartition(*place, position.offset, leader_epoch=position.leader_epoch)
        for place, position in positions.items()
    ]
