"""Asks the proxy for messages, and tells it what became of them.

A proxy that was restarted has forgotten its clients and answers each request with code 50001; the
client itself tells it again after ten minutes. So after ten such answers in a row the client is
made anew. The first request after a start may be answered like that, too: it was too early.
"""

import datetime as dt
import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

import attrs

from pragmatic_ddd_rocketmq_grpc.connection import Connection, shut_down
from pragmatic_ddd_rocketmq_grpc.consumer_calls import Batch, ConsumerCalls, ReceivingError
from pragmatic_ddd_rocketmq_grpc.errors import NotAvailableError
from pragmatic_ddd_rocketmq_grpc.received_message import HeldMessage
from pragmatic_ddd_rocketmq_grpc.routes import Routes

_logger = logging.getLogger(__name__)

_DEAF_ANSWERS: Final = 10


@attrs.define(eq=False, kw_only=True)
class Receiver:
    """A client of a consumer group. Safe to use from many threads.

    Attributes:
        connection: How to reach the proxy.
        group: The consumers that share the messages among them.
        topics: What is consumed.
        invisible_time: How long a message that was given out is nobody else's.
        long_poll: How long a request waits for messages; the proxy's own bounds are 5 s and 20 s.
    """

    connection: Connection
    group: str
    topics: Sequence[str]
    invisible_time: dt.timedelta
    long_poll: dt.timedelta
    _calls: ConsumerCalls = attrs.field(init=False, repr=False)
    _client: Any = attrs.field(default=None, init=False, repr=False)
    _routes: Routes | None = attrs.field(default=None, init=False, repr=False)
    _settings: Any = attrs.field(default=None, init=False, repr=False)
    _told: threading.Event = attrs.field(factory=threading.Event, init=False, repr=False)
    _deaf_answers: int = attrs.field(default=0, init=False)
    _is_closed: bool = attrs.field(default=False, init=False)
    _lock: "threading.RLock" = attrs.field(factory=threading.RLock, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._calls = ConsumerCalls(
            connection=self.connection,
            group=self.group,
            invisible_time=self.invisible_time,
            long_poll=self.long_poll,
        )

    @property
    def longest_poll(self) -> dt.timedelta:
        """How long a request may be under way; without the way to the proxy and back."""
        return self._calls.longest_poll

    def start(self) -> None:
        """Make the client; the proxy may come later.

        Raises:
            RocketMqGrpcStartError: A client was made before this process was forked.
        """
        client = self._started_client()
        with self._lock:
            self._client = client
            self._routes = Routes(connection=self.connection, client=client)

    def is_ordered(self, *, within: dt.timedelta = dt.timedelta()) -> bool | None:
        """Say whether the group gets the messages of a queue one after the other.

        Args:
            within: How long to wait for the proxy to say so.

        Returns:
            ``None`` where the proxy has not said it yet.
        """
        if not self._told.wait(within.total_seconds()):
            return None
        return bool(self._settings.subscription.fifo)

    def sources(self, topic: str) -> Mapping[str, Any]:
        """Return where a topic's messages are asked for, by the name of the broker.

        Raises:
            RefusedForNowError: There is no such topic, or it may not be read.
            NotAvailableError: The proxy does not answer, or this was closed.
            NotConfirmedError: It does not say why.
        """
        routes = self._routes
        if routes is None or self._is_closed:
            raise NotAvailableError("it is not running")
        return routes.readable(topic)

    def receive(self, topic: str, queue: Any, most: int) -> "Future[Batch]":  # noqa: ANN401
        """Ask a broker for messages of a topic, and wait for some in the background.

        Args:
            topic: Name of the topic.
            queue: Any queue of it at that broker, of ``sources``.
            most: Upper bound of how many.

        Returns:
            What it has brought, or raises ``ReceivingError``.
        """
        return self.connection.run(self._calls.receive(self._client, topic, queue, most))

    def acknowledge(self, message: HeldMessage) -> "Future[None]":
        """Tell the proxy that a message is done with; the future raises ``ReceivingError``."""
        return self.connection.run(self._calls.acknowledge(self._client, message))

    def extend(self, message: HeldMessage, invisible_time: dt.timedelta) -> "Future[None]":
        """Have a message be nobody else's for a time from now on, and note its new handle.

        The future raises ``ReceivingError``.
        """
        return self.connection.run(self._calls.extend(self._client, message, invisible_time))

    def heard(self) -> None:
        """Note that the proxy knows this client."""
        self._deaf_answers = 0

    def failed(self, error: ReceivingError) -> None:
        """Note that a request for messages failed; make the client anew when it must be."""
        with self._lock:
            self._deaf_answers = self._deaf_answers + 1 if error.is_deaf else 0
            if self._deaf_answers < _DEAF_ANSWERS or self._is_closed:
                return
            self._deaf_answers = 0
        _logger.warning(
            "group %s: the proxy has answered %s times with code 50001; a new client is made",
            self.group,
            _DEAF_ANSWERS,
        )
        self.renew()

    def renew(self) -> None:
        """Make the client anew; what it has under way ends by itself."""
        with self._lock:
            former = self._client
        client = self._started_client()
        with self._lock:
            is_late = self._is_closed or self._client is not former
            if not is_late:
                self._client = client
                self._routes = Routes(connection=self.connection, client=client)
        left = client if is_late else former
        threading.Thread(target=shut_down, args=(left,), daemon=True).start()

    def close(self) -> bool:
        """Shut the client down, once; say whether that is done. A second call does nothing."""
        with self._lock:
            client, was_closed = self._client, self._is_closed
            self._is_closed = True
        return True if client is None or was_closed else shut_down(client)

    def _started_client(self) -> Any:  # noqa: ANN401 - the client ships no types
        self._told.clear()
        client = self.connection.new_consumer(self.group, self.topics, self.long_poll)
        client.reset_setting = self._take_settings  # as a subclass would be told
        client.startup()
        return client

    def _take_settings(self, settings: Any) -> None:  # noqa: ANN401 - the client ships no types
        self._settings = settings
        self._told.set()
