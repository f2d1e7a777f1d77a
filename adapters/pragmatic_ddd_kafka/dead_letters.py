"""Where records go that no subscriber could take: a topic of the consumer group's own.

    <consumer group>-dead-letter    key, value and headers of the record, and what happened

Kafka has no dead-letter queue for consumers. A dead letter is an ordinary record: read it with any
consumer, and publish it again from there.
"""

import datetime as dt
import re
import traceback
from typing import Final

import attrs

from pragmatic_ddd.application.events import Failure
from pragmatic_ddd_kafka.errors import RefusedMessageError
from pragmatic_ddd_kafka.group_topics import dead_letter_topic
from pragmatic_ddd_kafka.kafka_producer import KafkaProducer
from pragmatic_ddd_kafka.record import OutgoingRecord, ReceivedRecord

ORIGINAL_TOPIC: Final = "dead_letter_topic"
ORIGINAL_PARTITION: Final = "dead_letter_partition"
ORIGINAL_OFFSET: Final = "dead_letter_offset"
ATTEMPTS: Final = "dead_letter_attempts"
ERROR: Final = "dead_letter_error"
DIED_AT: Final = "dead_letter_at"

_OURS: Final = frozenset(
    {ORIGINAL_TOPIC, ORIGINAL_PARTITION, ORIGINAL_OFFSET, ATTEMPTS, ERROR, DIED_AT}
)
_LONGEST_ERROR: Final = 2000
_SHORTEST_ERROR: Final = 200
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")


@attrs.frozen(kw_only=True)
class DeadLetters:
    """Keeps what a consumer group has given up.

    Attributes:
        producer: Sends them; each is confirmed before its record counts as done.
        group: The consumer group.
    """

    producer: KafkaProducer
    group: str

    def bury(self, record: ReceivedRecord, failure: Failure) -> None:
        """Send a record to the dead letters; return when the broker has confirmed it.

        Raises:
            RefusedMessageError: It is too large there, even with little of the error.
            RefusedTopicError: There is no topic for them, or none that we may write to.
            UnreachableError: It was not sent.
            NotConfirmedError: It may or may not have been sent.
        """
        try:
            self.producer.send(self._letter(record, failure, longest_error=_LONGEST_ERROR))
        except RefusedMessageError:
            self.producer.send(self._letter(record, failure, longest_error=_SHORTEST_ERROR))

    def _letter(
        self, record: ReceivedRecord, failure: Failure, *, longest_error: int
    ) -> OutgoingRecord:
        said = {
            ORIGINAL_TOPIC: record.topic,
            ORIGINAL_PARTITION: str(record.partition),
            ORIGINAL_OFFSET: str(record.offset),
            ATTEMPTS: str(failure.attempts),
            ERROR: _text_of(failure.error)[:longest_error],
            DIED_AT: dt.datetime.now(dt.UTC).isoformat(),
        }
        # One that was a dead letter before says where it died last.
        headers = [header for header in record.headers if header[0] not in _OURS]
        return OutgoingRecord(
            topic=dead_letter_topic(self.group),
            key=record.key,
            value=record.value,
            headers=[*headers, *((name, text.encode()) for name, text in said.items())],
        )


def _text_of(error: BaseException) -> str:
    return _UNPRINTABLE.sub(" ", "".join(traceback.format_exception_only(error)).strip())
