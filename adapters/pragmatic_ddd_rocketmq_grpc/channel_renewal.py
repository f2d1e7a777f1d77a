"""Has a connection made anew that has failed for a while.

gRPC tries to connect again after a pause that grows to two minutes, and until then every call
fails at once: a proxy that is back after an hour would be away for two minutes more. And one whose
machine has vanished may never be noticed. A new connection tries at once.
"""

import logging
import threading
import time
from typing import Any, Final

import attrs

from pragmatic_ddd_rocketmq_grpc.connection import Connection

_logger = logging.getLogger(__name__)

_FAILURES_IN_A_ROW: Final = 3
_SECONDS_BETWEEN: Final = 5.0


@attrs.define(eq=False, kw_only=True)
class ChannelRenewal:
    """What is known of the connections of one client. Safe to use from any thread.

    Attributes:
        connection: How the client reaches the proxy.
        client: The client.
    """

    connection: Connection
    client: Any
    _failures: dict[Any, int] = attrs.field(factory=dict, init=False)
    _renewed_at: dict[Any, float] = attrs.field(factory=dict, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def answered(self, address: Any) -> None:  # noqa: ANN401 - the client ships no types
        """Note that a call to an address was answered, whatever the answer was."""
        if address in self._failures:
            with self._lock:
                self._failures.pop(address, None)

    def failed(self, address: Any) -> None:  # noqa: ANN401 - the client ships no types
        """Note that a call to an address brought no answer; renew its connection now and then."""
        with self._lock:
            failures = self._failures.get(address, 0) + 1
            self._failures[address] = failures
            now = time.monotonic()
            last = self._renewed_at.setdefault(address, now)
            if failures < _FAILURES_IN_A_ROW or now - last < _SECONDS_BETWEEN:
                return
            self._renewed_at[address] = now
        self._renew(address)

    def _renew(self, address: Any) -> None:  # noqa: ANN401 - the client ships no types
        channel = self.client.rpc_client.channels.remove(address)
        if channel is None:
            return
        _logger.info("connecting anew to %s", address)
        try:
            channel.close_channel(self.client.rpc_client.get_channel_io_loop())
            self.client.on_new_endpoints(address)  # its stream went with the connection
        except Exception:
            _logger.exception("the connection to %s could not be renewed", address)
