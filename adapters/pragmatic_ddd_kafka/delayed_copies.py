"""Events for subscribers with delayed delivery: copies on a topic of the consumer group's own.

    <consumer group>-delay    copies addressed to one subscriber of the group, oldest first

Kafka delivers at once. Every copy waits equally long, so that the first of a partition is always
the next one that is due: the consumer holds the partition until then. Held in the consumer without
a topic, an event would keep its own partition from being committed as long as it waits, and after
a crash all that came behind it would come again.
"""

import datetime as dt
import time

import attrs

from pragmatic_ddd.application.events import ReceivedEvent
from pragmatic_ddd.application.events.wire_attributes import DEFAULT_SOURCE
from pragmatic_ddd.ports.subscribers import Subscriber
from pragmatic_ddd_kafka.event_record import outgoing
from pragmatic_ddd_kafka.group_topics import delay_topic
from pragmatic_ddd_kafka.kafka_producer import KafkaProducer
from pragmatic_ddd_kafka.record import ReceivedRecord


@attrs.frozen(kw_only=True)
class DelayedCopies:
    """Sends copies, and says when one that has come is due.

    Attributes:
        producer: Sends them; each is confirmed before its original counts as done.
        group: The consumer group.
        delay: How long every copy waits.
        source: Who sends: a URI reference.
    """

    producer: KafkaProducer
    group: str
    delay: dt.timedelta
    source: str = DEFAULT_SOURCE

    @property
    def topic(self) -> str:
        """Where they lie."""
        return delay_topic(self.group)

    def keep(self, received: ReceivedEvent, _: Subscriber) -> None:
        """Send a copy of an event, addressed as it is; return when the broker has confirmed it.

        Raises:
            RefusedMessageError: It can never be sent.
            RefusedTopicError: There is no topic for it, or none that we may write to.
            UnreachableError: It was not sent.
            NotConfirmedError: It may or may not have been sent.
        """
        self.producer.send(
            outgoing(received.message, self.topic, received.addressee, source=self.source)
        )

    def seconds_left(self, record: ReceivedRecord) -> float:
        """Return how long a record is to wait from now on: 0 where it is due, or is no copy.

        It compares this process's clock with that of the one that made the record, or of the
        broker; where they differ, a copy may be early or late by as much, and never waits longer
        than the delay once it has come.
        """
        if record.topic != self.topic or record.timestamp_ms is None:
            return 0.0
        delay = self.delay.total_seconds()
        waited = time.time() - record.timestamp_ms / 1000
        return min(max(0.0, delay - waited), delay)
