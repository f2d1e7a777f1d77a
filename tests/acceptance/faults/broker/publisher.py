"""Publishing to the broker: the adapter that the runs plug into eager publisher and relay."""

import datetime as dt
import json
import os
import socket
import threading
from typing import Any

import attrs

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
)
from pragmatic_ddd.ports import IStoredEventPublisher, OutboxMessage, Receipt
from tests.acceptance.faults.diary import Diary
from tests.acceptance.faults.failpoints import Failpoints

_ERRORS = {"refuse": EventPublishError, "refused": EventPublishError, "reject": EventRejectedError}


@attrs.define(eq=False, kw_only=True)
class JournalPublisher(IStoredEventPublisher):
    """One connection for each thread, made anew in a forked child.

    Attributes:
        port: Of the broker, on 127.0.0.1.
        topic: Where everything goes.
        timeout: Longest wait for a connection, and for an answer.
        diary: Told of what was refused, or stayed unconfirmed.
        failpoints: ``send.before``, ``send.written``, ``send.confirmed``.
    """

    port: int
    topic: str
    timeout: dt.timedelta
    diary: Diary
    failpoints: Failpoints
    side_by_side: int = 1
    _local: threading.local = attrs.field(factory=threading.local, init=False)

    @property
    def longest_call(self) -> dt.timedelta:
        return 2 * self.timeout

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        self.failpoints.fire("send.before")
        connection = self._connection(message)
        try:
            connection.sendall(json.dumps(self._request(message)).encode() + b"\n")
            self.failpoints.fire("send.written")
            answer = self._answer(connection)
        except (OSError, ValueError) as error:
            self._forget()
            self.diary.unconfirmed(message.message_id)
            raise EventUnconfirmedError(message.message_id, self.topic, repr(error)) from error
        self.failpoints.fire("send.confirmed")
        if "error" in answer:
            self.diary.refused(message.message_id)
            raise _ERRORS[answer["error"]](message.message_id, self.topic, answer["reason"])
        return Receipt(answer["receipt"])

    def _request(self, message: OutboxMessage) -> dict[str, object]:
        return {
            "do": "publish",
            "topic": self.topic,
            "trouble": json.loads(message.payload).get("trouble", ""),
            "copy": {
                "event_id": message.message_id,
                "aggregate_id": message.aggregate_id,
                "version": message.aggregate_version or 0,
                "index": message.event_index,
                "kind": message.event_type,
                "sender": os.getpid(),
            },
        }

    def _connection(self, message: OutboxMessage) -> socket.socket:
        pid, connection = getattr(self._local, "connection", (0, None))
        if connection is None or pid != os.getpid():
            timeout = self.timeout.total_seconds()
            try:
                connection = socket.create_connection(("127.0.0.1", self.port), timeout)
            except OSError as error:
                self.diary.refused(message.message_id)
                raise BrokerUnavailableError(message.message_id, self.topic, repr(error)) from error
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._local.connection = (os.getpid(), connection)
        return connection

    def _answer(self, connection: socket.socket) -> dict[str, Any]:
        received = b""
        while not received.endswith(b"\n"):
            part = connection.recv(4096)
            if not part:
                raise ConnectionError("the broker has closed the connection")
            received += part
        answer: dict[str, Any] = json.loads(received)
        return answer

    def _forget(self) -> None:
        """An answer that comes after all must not be taken for that of another message."""
        _, connection = self._local.connection
        connection.close()
        self._local.connection = (0, None)
