"""The right to work on one stream for one group: a key at Redis that expires unless it is renewed.

acquire ──▶ held ──renewal, renewed──▶ held … ──release──▶ free
              └── not renewed in time, or taken by another one ──▶ lost

Two members of a group that read one stream are given different entries of one aggregate at the
same time. So one works on a stream, and the others wait until it is gone.
"""

import datetime as dt
import secrets
import threading
import time

import attrs

from pragmatic_ddd_redis.connections import Command, RedisConnections
from pragmatic_ddd_redis.errors import RefusedCommandError
from pragmatic_ddd_redis.scripts import RELEASE, RENEW

_SAFE_PART = 0.9  # clocks here and there do not run at quite the same pace


@attrs.frozen
class Renewal:
    """A renewal on its way.

    Attributes:
        command: What to send.
        token: Of the lease that it renews.
        begun: Reading of the monotonic clock before it is sent.
    """

    command: Command
    token: str
    begun: float


@attrs.define(eq=False, kw_only=True)
class StreamLease:
    """A lease. One thread acquires and releases it, another one may renew it.

    Attributes:
        connections: The server.
        key: Its key; whoever wants to work on the stream for the group uses the same.
        duration: How long it is held unless it is renewed.
    """

    connections: RedisConnections
    key: str
    duration: dt.timedelta
    _token: str | None = attrs.field(default=None, init=False, repr=False)
    _until: float = attrs.field(default=0.0, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    @property
    def token(self) -> str:
        """What scripts compare with the key; of no use once the lease is lost."""
        return self._token or ""

    @property
    def is_held(self) -> bool:
        """Whether it is surely still held; a read of the clock, no question to the server."""
        return self._token is not None and time.monotonic() < self._until

    def acquire(self) -> bool:
        """Try to get it, under a token that nobody has had; tell whether it worked.

        Raises:
            NotSentError: The server cannot be reached.
            NoAnswerError: It may have been acquired; then nobody has it until it expires.
            RefusedCommandError: The server refuses.
        """
        token, begun = secrets.token_hex(16), time.monotonic()
        answer = self.connections.ask("SET", self.key, token, "NX", "PX", self._milliseconds)
        if answer is None:
            return False
        with self._lock:
            self._token, self._until = token, begun + self._safe_seconds
        return True

    def renewal(self) -> Renewal | None:
        """Return what renews it; ``None`` where there is nothing to renew."""
        with self._lock:
            if self._token is None:
                return None
            command = ("EVAL", RENEW, 1, self.key, self._token, self._milliseconds)
            return Renewal(command, self._token, time.monotonic())

    def renewed(self, renewal: Renewal, answer: object) -> None:
        """Note what the server answered to a renewal."""
        with self._lock:
            if renewal.token != self._token:
                return  # released since, and perhaps acquired anew
            if answer == 1:
                self._until = renewal.begun + self._safe_seconds
            elif not isinstance(answer, Exception):
                self._token = None

    def give_up(self) -> None:
        """Note that it is lost."""
        with self._lock:
            self._token = None

    def release(self) -> None:
        """Give it back, so that another one may have it at once.

        Raises:
            NotSentError: The server cannot be reached: it expires.
            NoAnswerError: Unknown whether it was given back; if not, it expires.
        """
        with self._lock:
            token, self._token = self._token, None
        if token is None:
            return
        try:
            self.connections.ask("EVAL", RELEASE, 1, self.key, token)
        except RefusedCommandError:
            return  # it expires

    @property
    def _milliseconds(self) -> int:
        return int(self.duration.total_seconds() * 1000)

    @property
    def _safe_seconds(self) -> float:
        return self.duration.total_seconds() * _SAFE_PART
