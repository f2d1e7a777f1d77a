"""One batch of the relay's, claimed in a thread while another one is being sent."""

import threading
from collections.abc import Callable

import attrs

from pragmatic_ddd.application.outbox.threads import StartThread, start_thread
from pragmatic_ddd.ports.outbox_message import ClaimedMessage

Claim = Callable[[], list[ClaimedMessage]]


@attrs.define(eq=False)
class ClaimAhead:
    """Claims one batch at a time. For one thread.

    What it takes is of other aggregates than the batch that is being sent: a claim passes over
    whatever stands behind a row that somebody owns. So the two need not know of each other.

    Attributes:
        start: Starts its threads.
    """

    start: StartThread = attrs.field(default=start_thread)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    _thread: threading.Thread | None = attrs.field(default=None, init=False)
    _claimed: list[ClaimedMessage] = attrs.field(factory=list, init=False)
    _error: BaseException | None = attrs.field(default=None, init=False)

    def begin(self, claim: Claim) -> None:
        """Begin a claim, if there are threads to be had; the one before has been taken."""
        called_off = threading.Event()
        try:
            self._thread = self.start("outbox-claim-ahead", lambda: self._run(claim, called_off))
        except RuntimeError:  # no more threads: the next round claims for itself
            return
        except BaseException:  # Ctrl-C: what has begun is taken, and what has not does not begin
            with self._lock:
                if self._thread is None:
                    called_off.set()
            raise

    def take(self) -> list[ClaimedMessage]:
        """Wait for the claim that was begun, and return its messages; none if none was begun.

        Raises:
            OutboxStoreError: The claim has failed.
        """
        if self._thread is None:
            return []
        self._thread.join()  # Ctrl-C ends this wait: then the next call waits
        self._thread = None
        error, self._error = self._error, None
        claimed, self._claimed = self._claimed, []
        if error is not None:
            raise error
        return claimed

    def _run(self, claim: Claim, called_off: threading.Event) -> None:
        with self._lock:
            if called_off.is_set():
                return
            self._thread = threading.current_thread()
        try:
            self._claimed = claim()
        except BaseException as error:  # noqa: BLE001  # raised where it is taken
            self._error = error
