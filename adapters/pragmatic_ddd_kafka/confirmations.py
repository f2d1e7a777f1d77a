"""The answers to the records of one call: they come in the client's thread, the call waits."""

import threading
import time
from functools import partial

import attrs
from confluent_kafka import KafkaError, Message

from pragmatic_ddd_kafka.record import Delivery

Answer = Delivery | KafkaError


@attrs.define(eq=False)
class Confirmations:
    """What has come, by the place of the record in its call.

    Attributes:
        count: How many are waited for.
    """

    count: int
    _answers: dict[int, Answer] = attrs.field(factory=dict, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    # Held until all are there. A lock of C: a signal handler that raises leaves it as it was.
    _waiting: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        if self.count > 0:
            self._waiting.acquire()

    def callback(self, place: int) -> "partial[None]":
        """Return what the client is to call with the delivery report of one record."""
        return partial(self._report, place)

    def note(self, place: int, answer: Answer) -> None:
        """Note the answer to one record; only the first counts."""
        with self._lock:
            if place in self._answers:
                return
            self._answers[place] = answer
            are_all_there = len(self._answers) == self.count
        if are_all_there:
            self._waiting.release()

    def are_there(self, *, until: float) -> bool:
        """Wait for all answers; say whether they are there.

        Args:
            until: Reading of the monotonic clock at which waiting ends.
        """
        if not self._waiting.acquire(timeout=max(0.0, until - time.monotonic())):
            return False
        self._waiting.release()
        return True

    def of(self, place: int) -> Answer | None:
        """Return the answer to one record; ``None`` where none has come."""
        return self._answers.get(place)

    def _report(self, place: int, error: KafkaError | None, message: Message) -> None:
        self.note(place, Delivery.of(message) if error is None else error)
