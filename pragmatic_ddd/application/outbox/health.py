"""What this process knows of its broker: whether a failure is the event's fault or an outage.

An outage is nobody's fault: it burns no attempts, is logged once, and slows the sending down to
one probe now and then. When the broker is back the relay takes batches of 1, 2, 4, … again.
"""

import datetime as dt
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

import attrs

from pragmatic_ddd.application.forking import reset_in_child
from pragmatic_ddd.application.outbox.retry import Backoff
from pragmatic_ddd.errors import BrokerUnavailableError, EventUnconfirmedError

_logger = logging.getLogger(__name__)

_NOTHING = dt.timedelta()
_UNCONFIRMED_IN_A_ROW = 3
_REMEMBERED_TRIES = 10_000
_PROBES = Backoff(base=dt.timedelta(seconds=1), cap=dt.timedelta(seconds=30))


@attrs.define(eq=False)
class BrokerHealth:
    """Shared by the eager publisher and the relay of one process. Safe to use from any thread.

    Attributes:
        monotonic: Seconds on a clock that never steps back.
        setbacks: How often an outage began or a probe failed: a batch that sees it change stops.
    """

    monotonic: Callable[[], float] = time.monotonic
    setbacks: int = attrs.field(default=0, init=False)
    _lock: threading.Lock = attrs.field(init=False)
    _confirmations: int = attrs.field(default=0, init=False)
    _tries: "OrderedDict[str, int]" = attrs.field(factory=OrderedDict, init=False)
    _unconfirmed_in_a_row: int = attrs.field(default=0, init=False)
    _failed_probes: int = attrs.field(default=0, init=False)
    _next_probe: float | None = attrs.field(default=None, init=False)
    _is_probing: bool = attrs.field(default=False, init=False)
    _ramp: int | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._renew_lock()
        reset_in_child(self._renew_lock)

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()

    @property
    def is_away(self) -> bool:
        """Whether the broker is taken to be out of reach."""
        return self._next_probe is not None

    @property
    def probe_in(self) -> dt.timedelta:
        """Time until the next probe may be sent; zero when nothing hinders a send."""
        next_probe = self._next_probe
        if next_probe is None:
            return _NOTHING
        return dt.timedelta(seconds=max(0.0, next_probe - self.monotonic()))

    def allowance(self, limit: int) -> int:
        """Return how many messages a batch may have now: none, one probe, a ramp, or ``limit``."""
        if self._next_probe is None and self._ramp is None:  # as nearly always: no lock for that
            return limit
        with self._lock:
            if self._next_probe is None:
                return limit if self._ramp is None else min(self._ramp, limit)
            if self.monotonic() < self._next_probe:
                return 0
            # Taken: nobody else probes until this one has failed or its time is over.
            self._is_probing = True
            self._next_probe = self.monotonic() + _PROBES.cap.total_seconds()
            return 1

    def give_back_probe(self) -> None:
        """Note that a probe, if this was one, has said nothing of the broker: the next may go."""
        with self._lock:
            if self._is_probing:
                self._is_probing = False
                self._next_probe = self.monotonic()

    def confirmed(self) -> None:
        """Note that the broker confirmed a message."""
        with self._lock:
            was_away = self._next_probe is not None
            self._confirmations += 1
            self._unconfirmed_in_a_row = 0
            self._failed_probes = 0
            if was_away:
                self._ramp = 1  # first: who reads without the lock would take a full batch
            self._next_probe = None
            self._is_probing = False
        if was_away:
            _logger.info("the broker confirms again: sending goes on")

    def batch_went_well(self, limit: int) -> None:
        """Note that a whole batch was confirmed: the next may be twice as large."""
        with self._lock:
            if self._ramp is not None:
                self._ramp *= 2
                if self._ramp >= limit:
                    self._ramp = None

    def failed(self, message_id: str, error: BaseException) -> bool:
        """Note a failed send and return whether it counts as an attempt of that message.

        A broker that is away counts none. Where the client cannot tell, a failure counts only
        if the broker confirmed another message since the previous try of this one.
        """
        if isinstance(error, BrokerUnavailableError):
            self._set_back(error, sure=True)
            return False
        if not isinstance(error, EventUnconfirmedError):
            self.give_back_probe()
            return True
        with self._lock:
            previous = self._tries.pop(message_id, None)
            self._tries[message_id] = self._confirmations
            while len(self._tries) > _REMEMBERED_TRIES:
                self._tries.popitem(last=False)
            counts = previous is not None and self._confirmations > previous
        self._set_back(error, sure=False)
        return counts

    def _set_back(self, error: BaseException, *, sure: bool) -> None:
        with self._lock:
            self._unconfirmed_in_a_row += 1
            is_away = self._next_probe is not None
            if not (sure or is_away or self._unconfirmed_in_a_row >= _UNCONFIRMED_IN_A_ROW):
                return
            if is_away and not self._is_probing:
                return  # sent before the outage was noticed: it says nothing new
            self._is_probing = False
            self._failed_probes += 1
            pause = _PROBES.delay(self._failed_probes)
            self._next_probe = self.monotonic() + pause.total_seconds()
            self._ramp = None
            self.setbacks += 1  # last: who has seen it reads the rest as it is now
        if not is_away:
            _logger.warning("cannot send, messages wait in the outbox: %s", error)
