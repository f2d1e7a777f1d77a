"""One producer of librdkafka, and the thread that hears what it answers.

send_all ──produce──▶ client ──▶ broker
   ▲                    │ delivery reports
   └── Confirmations ◀──┴── this object's thread

It ends where its numbers do not fit the broker's any more (a fatal error, an epoch that the broker
does not take): a new one begins with a new number. Until then its epoch, raised by the client
whenever a record was given up, has the broker refuse what is left on the wire of an old one.
"""

import logging
import threading
import time
from collections.abc import Sequence

import attrs
from confluent_kafka import KafkaError, KafkaException, Producer

from pragmatic_ddd_kafka.client_properties import Properties
from pragmatic_ddd_kafka.confirmations import Answer, Confirmations
from pragmatic_ddd_kafka.connection_trouble import ConnectionTrouble
from pragmatic_ddd_kafka.errors import (
    NotConfirmedError,
    SendError,
    send_error,
    spoils_producer,
    start_error,
)
from pragmatic_ddd_kafka.record import Delivery, OutgoingRecord

_logger = logging.getLogger(__name__)

_GLANCE_SECONDS = 0.5
REPORT_SECONDS = 1.0
"""How long delivery reports may take to come, after a timeout or a purge."""


@attrs.define(eq=False)
class ProducerConnection:
    """Sends records and waits for their reports; safe to use from many threads.

    Attributes:
        properties: What the client is told.
        name: Which one it is, for the log.
    """

    properties: Properties = attrs.field(repr=False)
    name: str
    _client: Producer = attrs.field(init=False)
    _trouble: ConnectionTrouble = attrs.field(init=False)
    _is_spoiled: bool = attrs.field(default=False, init=False)
    _is_ended: threading.Event = attrs.field(factory=threading.Event, init=False)

    def __attrs_post_init__(self) -> None:
        self._trouble = ConnectionTrouble(self.name)
        try:
            # Not a method of this object: it would keep the client, which keeps it, for ever.
            self._client = Producer(self.properties | {"error_cb": self._trouble.note})
        except KafkaException as error:
            raise start_error(error, self.name) from error
        threading.Thread(target=self._hear, name=self.name, daemon=True).start()

    @property
    def is_spoiled(self) -> bool:
        """Whether it can send nothing more."""
        return self._is_spoiled or self._trouble.is_fatal

    def send_all(
        self, records: Sequence[OutgoingRecord], *, until: float
    ) -> list[Delivery | SendError]:
        """Send records, once; return when each has its answer. None is left in the client.

        Args:
            records: No two of which have the same aggregate.
            until: Reading of the monotonic clock at which waiting for them ends; it returns at
                most ``REPORT_SECONDS`` later.
        """
        begun = time.monotonic()
        confirmations = Confirmations(len(records))
        for place, record in enumerate(records):
            self._hand_over(record, place, confirmations)
        if not confirmations.are_there(until=until):
            self._give_up(confirmations)
        trouble = self._trouble.since(begun)
        return [self._read(confirmations.of(place), trouble) for place in range(len(records))]

    def end(self) -> None:
        """Send nothing more; what is still under way is given up."""
        self._is_spoiled = True
        self._is_ended.set()

    def _hand_over(self, record: OutgoingRecord, place: int, confirmations: Confirmations) -> None:
        try:
            self._client.produce(
                record.topic,
                record.value,
                record.key,
                headers=list(record.headers),
                on_delivery=confirmations.callback(place),
            )
        except BufferError:
            confirmations.note(place, KafkaError(KafkaError._QUEUE_FULL))  # noqa: SLF001
        except KafkaException as error:
            confirmations.note(place, error.args[0])

    def _give_up(self, confirmations: Confirmations) -> None:
        """Have the client forget what it still has: sent later, it would come out of its turn."""
        self._client.purge()
        if not confirmations.are_there(until=time.monotonic() + REPORT_SECONDS):
            self._is_spoiled = True
            _logger.error("%s does not answer; a new one takes its place", self.name)

    def _read(self, answer: Answer | None, trouble: str | None) -> Delivery | SendError:
        if isinstance(answer, Delivery):
            self._trouble.over()
            return answer
        if answer is None:
            return NotConfirmedError("the client gave no answer")
        if spoils_producer(answer):
            self._is_spoiled = True
        return send_error(answer, trouble=trouble)

    def _hear(self) -> None:
        """Serve delivery reports until the end."""
        while not self._is_ended.is_set():
            self._poll(_GLANCE_SECONDS)
        self._client.purge()
        self._poll(0)

    def _poll(self, seconds: float) -> None:
        """Serve what there is; the client raises a fatal error here, whenever it hears of it."""
        try:
            self._client.poll(seconds)
        except Exception as error:
            if isinstance(error, KafkaException):
                self._trouble.note(error.args[0])
            else:
                _logger.exception("%s failed", self.name)
            self._is_ended.wait(seconds)
