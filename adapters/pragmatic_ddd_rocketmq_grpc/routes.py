"""Where the messages of a topic go: what the proxy says of the topic, asked once and kept.

The client keeps the answers, and asks again every 30 s. Where it has none it tells an unknown
topic and a dead proxy by the same text, so that the question is asked once more, to know.
"""

import math
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

import attrs

from pragmatic_ddd_rocketmq_grpc.answers import OK, failure, name_of, refusal
from pragmatic_ddd_rocketmq_grpc.connection import Connection
from pragmatic_ddd_rocketmq_grpc.errors import (
    NotAvailableError,
    NotConfirmedError,
    RefusedForNowError,
    SendError,
)


@attrs.define(eq=False, kw_only=True)
class Routes:
    """The routes of one client.

    Attributes:
        connection: How it reaches the proxy.
        client: The client.
    """

    connection: Connection
    client: Any
    _selectors: dict[str, tuple[object, Any]] = attrs.field(factory=dict, init=False)
    _known: set[str] = attrs.field(factory=set, init=False)

    def address(self, topic: str, message_group: str | None, *, deadline: float) -> Any:  # noqa: ANN401
        """Return where a message is sent; the client's own choice among several brokers.

        Args:
            topic: The message's topic.
            message_group: Its group, if it has one.
            deadline: Reading of the monotonic clock at which a question must be over.

        Raises:
            RefusedForNowError: There is no such topic, or it takes no messages.
            NotAvailableError: The proxy does not answer.
            NotConfirmedError: It does not say why.
        """
        selector = self._selector(topic, deadline)
        if message_group is None:
            return selector.select_next_queue().endpoints
        return selector.select_queue_by_hash_key(message_group).endpoints

    def readable(self, topic: str) -> Mapping[str, Any]:
        """Return one queue for each broker that has messages of a topic, by the broker's name.

        Raises:
            RefusedForNowError: There is no such topic, or it may not be read.
            NotAvailableError: The proxy does not answer.
            NotConfirmedError: It does not say why.
        """
        found: dict[str, Any] = {}
        for queue in _queues(self._route(topic, math.inf)):
            if queue.is_readable() and queue.is_master_broker():
                found.setdefault(queue.message_queue0().broker.name, queue)
        if not found:
            raise RefusedForNowError(f"topic {topic}: no queue of it can be read")
        return found

    def _selector(self, topic: str, deadline: float) -> Any:  # noqa: ANN401 - the client ships no types
        route = self._route(topic, deadline)
        known = self._selectors.get(topic)
        if known is not None and known[0] is route:
            return known[1]
        if not any(queue.is_writable() and queue.is_master_broker() for queue in _queues(route)):
            raise RefusedForNowError(f"topic {topic}: no queue of it can be written to")
        selector = self.connection.library.queue_selector.producer_queue_selector(route)
        self._selectors[topic] = (route, selector)
        return selector

    def _route(self, topic: str, deadline: float) -> Any:  # noqa: ANN401 - as above
        if topic not in self._known:
            longest = self.connection.longest_question.total_seconds()
            if time.monotonic() + longest > deadline:
                raise NotAvailableError(f"no time left to ask for the route of topic {topic}")
        try:
            route = self.client.route_manager.retrieve_topic_route_data(topic)
        except Exception as error:  # the client has no other
            raise self._why(topic, error, deadline) from error
        self._known.add(topic)
        self.client.topics.add(topic)
        return route

    def _why(self, topic: str, error: Exception, deadline: float) -> SendError:
        """Ask as the client did, and return what it does not tell."""
        protocol = self.connection.library.protocol
        where = f"topic {topic} at {self.connection.endpoints}"
        request = protocol.QueryRouteRequest()
        endpoints = self.client.client_configuration.rpc_endpoints
        request.topic.name = topic
        request.topic.resource_namespace = self.connection.namespace
        request.endpoints.CopyFrom(endpoints.endpoints)
        seconds = min(self.connection.timeout.total_seconds(), deadline - time.monotonic())
        if seconds <= 0:
            return NotAvailableError(f"{error} ({where})")
        try:
            future = self.client.rpc_client.query_topic_route_async(
                endpoints, request, metadata=self.client.sign(), timeout=seconds
            )
            status = future.result(seconds).status
        except FutureTimeoutError:
            return NotAvailableError(f"no answer ({where})")
        except Exception as reason:  # noqa: BLE001 - gRPC's, or the client's
            found = failure(reason, where)
            return NotAvailableError(str(found)) if isinstance(found, NotConfirmedError) else found
        code = name_of(protocol, status.code)
        if code == OK:
            return NotAvailableError(f"{error} ({where}); it answers again")
        return refusal(code, status.message, where)


def _queues(route: Any) -> Iterable[Any]:  # noqa: ANN401 - the client ships no types
    queues: Iterable[Any] = route.message_queues
    return queues
