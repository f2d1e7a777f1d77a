"""How this package's clients are made, and how they end.

A client has threads from its constructor on, so that it is made where it is started, and never
before a fork. Its end may hang, or wait for a proxy that does not answer: it has a thread of its
own, and a bound.
"""

import asyncio
import datetime as dt
import logging
import math
import threading
from collections.abc import Coroutine, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

import attrs

from pragmatic_ddd_rocketmq_grpc.client_library import ClientLibrary
from pragmatic_ddd_rocketmq_grpc.credentials import Credentials
from pragmatic_ddd_rocketmq_grpc.endpoints import Endpoints
from pragmatic_ddd_rocketmq_grpc.forked_process import note_client, refuse_after_fork

ResultT = TypeVar("ResultT")

_logger = logging.getLogger(__name__)

SHUTDOWN_BOUND = dt.timedelta(seconds=10)


@attrs.frozen(kw_only=True)
class Connection:
    """How to reach the proxy.

    Attributes:
        library: The client.
        endpoints: Where the proxy is.
        namespace: What topics and groups are part of; empty for none.
        credentials: The account, where the proxy asks for one.
        tls: Whether the proxy is asked for its certificate, and spoken to in secret.
        timeout: How long the answer to one request may take.
    """

    library: ClientLibrary
    endpoints: Endpoints
    namespace: str = ""
    credentials: Credentials | None = None
    tls: bool = False
    timeout: dt.timedelta = dt.timedelta(seconds=3)

    @property
    def longest_question(self) -> dt.timedelta:
        """How long the client waits for a route."""
        return whole_seconds(self.timeout)

    def started_producer(self) -> Any:  # noqa: ANN401 - the client ships no types
        """Return a client that sends; nothing is asked of the proxy yet.

        Raises:
            RocketMqGrpcStartError: A client was made before this process was forked.
        """
        refuse_after_fork(self.library.rpc_client)
        note_client()
        producer = self.library.producer(self._configuration(), tls_enable=self.tls)
        producer.startup()
        return producer

    def new_consumer(self, group: str, topics: Iterable[str], long_poll: dt.timedelta) -> Any:  # noqa: ANN401
        """Return a client that receives, before its ``startup``.

        Args:
            group: Its consumer group.
            topics: What it subscribes to.
            long_poll: How long a request waits for messages.

        Raises:
            RocketMqGrpcStartError: A client was made before this process was forked.
        """
        refuse_after_fork(self.library.rpc_client)
        note_client()
        return self.library.simple_consumer(
            self._configuration(),
            group,
            {topic: self.library.filter_expression() for topic in topics},
            await_duration=math.ceil(long_poll.total_seconds()),
            tls_enable=self.tls,
        )

    def run(self, work: Coroutine[Any, Any, ResultT]) -> "Future[ResultT]":
        """Run something on the thread that all clients of this process share."""
        loop = self.library.rpc_client.get_channel_io_loop()
        return asyncio.run_coroutine_threadsafe(work, loop)

    def stub(self, client: Any, endpoints: Any) -> Any:  # noqa: ANN401 - the client ships no types
        """Return what has the calls of the protocol, connected to an address."""
        return client.rpc_client.retrieve_or_create_channel(endpoints).async_stub

    def _configuration(self) -> Any:  # noqa: ANN401 - the client ships no types
        account = self.credentials
        credentials = self.library.credentials()
        if account is not None:
            credentials = self.library.credentials(account.access_key, account.secret_key)
        seconds = int(self.longest_question.total_seconds())
        return self.library.configuration(
            str(self.endpoints), credentials, self.namespace, request_timeout=seconds
        )


def whole_seconds(timeout: dt.timedelta) -> dt.timedelta:
    """Return a timeout as the client keeps it."""
    return dt.timedelta(seconds=math.ceil(timeout.total_seconds()))


def shut_down(client: Any, *, within: dt.timedelta = SHUTDOWN_BOUND) -> bool:  # noqa: ANN401
    """Shut a client down, once; say whether it is done in time. Otherwise it goes on.

    What it has under way is pending for ever afterwards: let that end before.
    """
    thread = threading.Thread(
        target=_shut_down, args=(client,), name="rocketmq-grpc-shutdown", daemon=True
    )
    try:
        thread.start()
    except RuntimeError as error:  # at the end of the interpreter there are no new threads
        _logger.warning("%s is not shut down: %s", client, error)
        return False
    thread.join(within.total_seconds())
    return not thread.is_alive()


def _shut_down(client: Any) -> None:  # noqa: ANN401 - the client ships no types
    try:
        client.shutdown()
    except Exception:
        _logger.exception("%s failed to shut down", client)
