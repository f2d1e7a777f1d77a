"""The producer: many records under way at once, each answered before its call returns.

    NEW ──start──▶ RUNNING ──close──▶ CLOSED

A call returns when each of its records is confirmed or has failed, and leaves none behind in the
client: so no record can be sent after its call, when its successor may be on its way. What was
given up may still arrive, from the wire; it arrives before anything that is sent later on the
same connection, and the broker refuses it after anything that was sent with a newer epoch.

A broker refuses a batch for the sake of one record in it. So what was refused is sent again, each
record in a batch of its own, by a second client that is made when it is needed first.
"""

import datetime as dt
import enum
import logging
import threading
import time
from collections.abc import Sequence

import attrs

from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd_kafka.client_properties import Properties, one_by_one
from pragmatic_ddd_kafka.errors import (
    KafkaStartError,
    NotConfirmedError,
    RefusedBatchError,
    SendError,
    UnreachableError,
)
from pragmatic_ddd_kafka.producer_connection import REPORT_SECONDS, ProducerConnection
from pragmatic_ddd_kafka.record import Delivery, OutgoingRecord

_logger = logging.getLogger(__name__)

_GLANCE_SECONDS = 0.005


def longest_send(send_timeout: dt.timedelta) -> dt.timedelta:
    """Return the upper bound of one call: the timeout, and the time that reports may take."""
    return send_timeout + 2 * dt.timedelta(seconds=REPORT_SECONDS)


class _State(enum.Enum):
    NEW = "not started"
    RUNNING = "running"
    CLOSED = "shut down"


@attrs.define(eq=False, kw_only=True)
class KafkaProducer:
    """Sends records, once each, from any number of threads.

    Attributes:
        properties: What the client is told.
        send_timeout: How long the brokers may take to confirm; the client's ``message.timeout.ms``.
    """

    properties: Properties = attrs.field(repr=False)
    send_timeout: dt.timedelta
    _state: _State = attrs.field(default=_State.NEW, init=False)
    _connection: ProducerConnection | None = attrs.field(default=None, init=False)
    _alone: ProducerConnection | None = attrs.field(default=None, init=False)
    _in_flight: int = attrs.field(default=0, init=False)
    # Reentrant: a signal handler may close it while the main thread is just using it.
    _lock: "threading.RLock" = attrs.field(factory=threading.RLock, init=False, repr=False)

    def start(self) -> None:
        """Begin to connect; whether a broker answers shows later.

        Raises:
            ConfigurationError: The client refuses a property; it may be started again.
            KafkaStartError: It cannot be made now; it may be started again.
        """
        with self._lock:
            self._connection = self._connected(self._connection, self.properties, "sends")
            self._state = _State.RUNNING

    def send(self, record: OutgoingRecord) -> Delivery:
        """Send one record; return when it is confirmed.

        Raises:
            RefusedMessageError: It can never be sent; it was not.
            RefusedTopicError: The broker does not take it on this topic.
            UnreachableError: The brokers cannot be reached.
            NotConfirmedError: It may or may not have been stored.
        """
        (answer,) = self.send_many([record])
        if isinstance(answer, Delivery):
            return answer
        raise answer

    def send_many(self, records: Sequence[OutgoingRecord]) -> list[Delivery | SendError]:
        """Send records, no two of one aggregate; return for each where it lies, or its error."""
        until = time.monotonic() + self.send_timeout.total_seconds() + REPORT_SECONDS
        try:
            connection = self._begin()
        except UnreachableError as error:
            return [error] * len(records)
        try:
            answers = connection.send_all(records, until=until)
            return self._send_again_alone(records, answers, until=until)
        finally:
            with self._lock:
                self._in_flight -= 1

    def close(self, *, within: dt.timedelta) -> None:
        """Refuse new calls, wait for those at work, disconnect. A second call does nothing."""
        with self._lock:
            self._state = _State.CLOSED
        deadline = time.monotonic() + within.total_seconds()
        while self._in_flight > 0 and time.monotonic() < deadline:
            time.sleep(_GLANCE_SECONDS)
        with self._lock:
            for connection in (self._connection, self._alone):
                if connection is not None:
                    connection.end()
            self._connection = self._alone = None

    def _begin(self) -> ProducerConnection:
        with self._lock:
            self._check_running()
            self._connection = self._connected(self._connection, self.properties, "sends")
            self._in_flight += 1
            return self._connection

    def _send_again_alone(
        self,
        records: Sequence[OutgoingRecord],
        answers: list[Delivery | SendError],
        *,
        until: float,
    ) -> list[Delivery | SendError]:
        """Return the answers; of what was refused as part of a batch, those to itself alone."""
        refused = [
            place for place, answer in enumerate(answers) if isinstance(answer, RefusedBatchError)
        ]
        again = self._send_alone([records[place] for place in refused], until=until)
        for place, answer in zip(refused, again, strict=True):
            answers[place] = answer
        return answers

    def _send_alone(
        self, records: Sequence[OutgoingRecord], *, until: float
    ) -> Sequence[Delivery | SendError]:
        if not records:
            return ()
        if time.monotonic() >= until:
            error = NotConfirmedError(
                "refused with its batch, and no time was left to send it alone"
            )
            return [error] * len(records)
        try:
            with self._lock:
                self._check_running()
                self._alone = self._connected(
                    self._alone, one_by_one(self.properties), "is asked again"
                )
                alone = self._alone
        except UnreachableError as error:
            return [error] * len(records)
        return alone.send_all(records, until=until)

    def _connected(
        self, connection: ProducerConnection | None, properties: Properties, what: str
    ) -> ProducerConnection:
        """Return a connection that is there, or a new one in place of one that is spoiled."""
        if connection is not None and not connection.is_spoiled:
            return connection
        if connection is not None:
            connection.end()
            _logger.warning("Kafka: %s ends; a new producer takes its place", connection.name)
        client = properties["client.id"]
        try:
            return ProducerConnection(properties, f"Kafka producer of {client} that {what}")
        except (ConfigurationError, KafkaStartError) as error:
            if self._state is _State.NEW:
                raise
            raise UnreachableError(str(error)) from error

    def _check_running(self) -> None:
        if self._state is not _State.RUNNING:
            raise UnreachableError(f"the producer is {self._state.value}")
