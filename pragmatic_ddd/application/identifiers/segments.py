"""Integer ids from reserved segments; the next segment is reserved before the present one ends.

    at hand  ▓▓▓▓▓▓▓▓▓░░░░░░░░  half a segment left ──▶ a thread reserves the next one
             nothing left ──▶ wait for that thread, at most ``patience``, and never for oneself

Ids rise within one process and lie in blocks across several; they are not in the order of
commits. What a process has reserved and not handed out when it ends is a gap for ever.
"""

import datetime as dt
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NoReturn

import attrs
from attrs.validators import ge

from pragmatic_ddd.application.arguments import check_count, check_words, implements, of_type
from pragmatic_ddd.application.forking import reset_in_child
from pragmatic_ddd.application.outbox.threads import StartThread, start_thread
from pragmatic_ddd.errors import IdAllocationError
from pragmatic_ddd.ports.identifiers import IIdSegmentAllocator

_logger = logging.getLogger(__name__)

_PAUSE_SECONDS = 1.0
_WAITS_FOR_ITSELF = (
    "none is left at hand, and the next segment can be reserved only after the transaction that "
    "this thread has open: end it and try again; call reserve() before it, or raise segment_size"
)


@attrs.define(eq=False)
class _Fetch:
    """A segment on its way."""

    is_over: bool = False
    waiting: int = 0
    error: BaseException | None = None


@attrs.define(kw_only=True, eq=False)
class SegmentIdGenerator:
    """Hands out the ids of one sequence. One for each sequence in a process; share it.

    Segments are reserved on a thread and a connection of their own, so never inside a unit of
    work. A forked child begins with nothing at hand and reserves segments of its own.

    Attributes:
        allocator: Where segments are reserved.
        sequence: Name of the sequence.
        segment_size: How many ids are reserved at once: what a few seconds need, and at least
            twice what one unit of work needs. As many at most are lost when a process ends.
        patience: How long ``next_id`` waits for a segment when none is left.
        start: How a thread is started.
        monotonic: The monotonic clock, in seconds.

    Raises:
        TypeError: Something else was given than is asked for.
        ValueError: The name is blank, or ``segment_size`` is below 1, or ``patience`` below 0.
    """

    allocator: IIdSegmentAllocator = attrs.field(validator=implements(IIdSegmentAllocator))
    sequence: str
    segment_size: int = 1000
    patience: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=5), validator=[of_type(dt.timedelta), ge(dt.timedelta())]
    )
    start: StartThread = start_thread
    monotonic: Callable[[], float] = time.monotonic
    _changed: threading.Condition = attrs.field(init=False, repr=False)
    _at_hand: deque[range] = attrs.field(init=False, repr=False)
    _left: int = attrs.field(init=False, repr=False)
    _fetch: _Fetch | None = attrs.field(init=False, repr=False)
    _paused_until: float = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        check_words("sequence", self.sequence)
        check_count("segment_size", self.segment_size)
        self._begin_empty()
        reset_in_child(self._begin_empty)

    def _begin_empty(self) -> None:
        self._changed = threading.Condition()
        self._at_hand = deque()
        self._left = 0
        self._fetch = None
        self._paused_until = float("-inf")

    def next_id(self) -> int:
        """Return the next id; waits only where no segment came in time.

        Raises:
            IdAllocationError: None is left, and none could be reserved within ``patience``, or
                only after the transaction that this thread has open. A segment may still be on
                its way: try again once the transaction has ended.
            UnknownIdSequenceError: The allocator knows no such sequence.
            IdSequenceExhaustedError: The sequence has come to its end.
        """
        with self._changed:
            self._await(1)
            number = self._take()
            if self._left <= self.segment_size // 2:
                self._fetch_ahead()
            return number

    def reserve(self, count: int = 1) -> None:
        """Have at least that many ids at hand: at start-up, or before a large unit of work.

        Other threads may take some of them in between.

        Raises:
            IdAllocationError: As for ``next_id``; what is at hand stays there.
            TypeError: ``count`` is no whole number.
            ValueError: It is below 1.
        """
        check_count("count", count)
        with self._changed:
            self._await(count)

    def _take(self) -> int:
        ids = self._at_hand[0]
        self._left -= 1  # first: who is interrupted after it leaves more than is known, not less
        if len(ids) > 1:
            self._at_hand[0] = ids[1:]
        else:
            self._at_hand.popleft()
        return ids[0]

    def _await(self, count: int) -> None:
        """Wait until so many are at hand; the lock is held, and let go meanwhile."""
        patience = self.patience.total_seconds()
        end = self.monotonic() + patience
        while self._left < count:
            fetch = self._fetch or self._begin_fetch(count - self._left)
            if not fetch.is_over and self.allocator.would_wait_for_caller():
                raise IdAllocationError(self.sequence, _WAITS_FOR_ITSELF)
            if not self._comes(fetch, within=max(0.0, end - self.monotonic())):
                raise IdAllocationError(
                    self.sequence,
                    f"none is left at hand, and no segment could be reserved in {patience:g} s",
                )
            if fetch.error is not None:
                _raise_own(fetch.error)

    def _comes(self, fetch: _Fetch, within: float) -> bool:
        fetch.waiting += 1
        try:
            return self._changed.wait_for(lambda: fetch.is_over, within)
        finally:
            fetch.waiting -= 1

    def _fetch_ahead(self) -> None:
        if self._fetch is None and self.monotonic() >= self._paused_until:
            self._begin_fetch(self.segment_size)

    def _begin_fetch(self, count: int) -> _Fetch:
        fetch = _Fetch()
        size = max(self.segment_size, count)
        try:
            self._fetch = fetch
            self.start(f"ids of {self.sequence}", lambda: self._run(fetch, size))
        except RuntimeError as error:  # no more threads to be had
            failure = IdAllocationError(self.sequence, f"no thread to reserve them on: {error}")
            failure.__cause__ = error
            self._fail(fetch, failure)
        except BaseException:
            self._fetch = None  # else everybody would wait for it for ever
            raise
        return fetch

    def _run(self, fetch: _Fetch, size: int) -> None:
        try:
            segment = self.allocator.allocate(self.sequence, size=size)
        except BaseException as error:  # noqa: BLE001  # the thread's outermost frame
            self._fail(fetch, error)
            return
        with self._changed:
            self._at_hand.append(range(segment.first, segment.last + 1))
            self._left += segment.size
            self._end(fetch)

    def _fail(self, fetch: _Fetch, error: BaseException) -> None:
        with self._changed:
            self._paused_until = self.monotonic() + _PAUSE_SECONDS
            fetch.error = error
            self._end(fetch)
            has_told = fetch.waiting > 0
        if not has_told:
            _logger.warning(
                "ids of %s: no segment could be reserved ahead, %d left; it will be tried again",
                self.sequence,
                self._left,
                exc_info=error,
            )

    def _end(self, fetch: _Fetch) -> None:
        fetch.is_over = True
        self._fetch = None
        self._changed.notify_all()


def _raise_own(error: BaseException) -> NoReturn:
    """Raise an error of this thread's own: whoever raises one writes its traceback into it."""
    if not isinstance(error, IdAllocationError):
        raise error  # a mistake in the allocator; nobody knows how another one of it is made
    own = type(error).__new__(type(error), *error.args)  # a subclass may ask for other arguments
    vars(own).update(vars(error))
    raise own from error
