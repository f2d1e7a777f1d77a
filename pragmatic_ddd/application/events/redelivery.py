"""When a message that failed is tried again, and when it is given up.

For consumers whose broker counts no tries, or has no pauses of the wanted length. Tries and
pauses are counted here, so that they are this process's: where a message moves to another
process, the counting begins anew.
"""

import datetime as dt
import threading
import time
from collections import OrderedDict

import attrs
from attrs import validators

_MOST_RECORDS = 1000


@attrs.define(eq=False)
class Failure:
    """What is known of a message that failed.

    Attributes:
        error: What went wrong last.
        attempts: How often it was tried.
        is_final: Whether it is not to be tried again.
        not_before: Reading of the monotonic clock before which nothing is tried.
        pauses: How many pauses it has had.
    """

    error: BaseException
    attempts: int = 0
    is_final: bool = False
    not_before: float = 0.0
    pauses: int = 0


@attrs.define(eq=False, kw_only=True)
class Redeliveries:
    """The failures of messages that are not settled yet. Safe to share between threads.

    Attributes:
        max_attempts: Tries after which a message is given up.
        first_pause: Before the second try; doubled before each later one.
        longest_pause: Where the doubling ends.
    """

    max_attempts: int = attrs.field(validator=validators.ge(1))
    first_pause: dt.timedelta = dt.timedelta(seconds=1)
    longest_pause: dt.timedelta = dt.timedelta(seconds=30)
    _failures: OrderedDict[str, Failure] = attrs.field(factory=OrderedDict, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def is_waiting(self, message_id: str) -> bool:
        """Say whether a message's pause is not over yet."""
        with self._lock:
            failure = self._failures.get(message_id)
        return failure is not None and time.monotonic() < failure.not_before

    def is_last_try(self, message_id: str) -> bool:
        """Say whether a message that fails now is given up."""
        with self._lock:
            failure = self._failures.get(message_id)
        return (0 if failure is None else failure.attempts) + 1 >= self.max_attempts

    def given_up(self, message_id: str) -> Failure | None:
        """Return the failure of a message that is not to be tried again."""
        with self._lock:
            failure = self._failures.get(message_id)
        return failure if failure is not None and failure.is_final else None

    def failed(self, message_id: str, error: BaseException, *, is_final: bool) -> Failure:
        """Count a try that failed, and begin a pause.

        Args:
            message_id: The message.
            error: What went wrong.
            is_final: Whether no further try can help.
        """
        with self._lock:
            failure = self._failures.setdefault(message_id, Failure(error))
            failure.error = error
            failure.attempts += 1
            failure.is_final = is_final or failure.attempts >= self.max_attempts
            self._pause(failure)
            self._failures.move_to_end(message_id)
            while len(self._failures) > _MOST_RECORDS:
                self._failures.popitem(last=False)
            return failure

    def postpone(self, failure: Failure) -> None:
        """Begin another pause without counting a try."""
        with self._lock:
            self._pause(failure)

    def settled(self, message_id: str) -> None:
        """Forget a message that will not come again."""
        with self._lock:
            self._failures.pop(message_id, None)

    def _pause(self, failure: Failure) -> None:
        doubled = self.first_pause * 2 ** min(failure.pauses, 30)
        failure.pauses += 1
        failure.not_before = time.monotonic() + min(doubled, self.longest_pause).total_seconds()
