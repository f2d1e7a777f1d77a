"""What a received message is to this process's subscribers."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping

import attrs

from pragmatic_ddd.application.events import (
    Dispatcher,
    Outcome,
    SubscriberOutcome,
    SubscriberRegistry,
)
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd.ports.events import Delivery, Subscriber
from pragmatic_ddd.ports.metrics import IEventMetrics
from pragmatic_ddd.ports.serialization import IEventSerializer
from pragmatic_ddd_rocketmq.event_message import (
    EVENT_TYPE,
    Addressee,
    ReceivedEvent,
    outgoing,
    received,
)
from pragmatic_ddd_rocketmq.native_producer import NativeProducer
from pragmatic_ddd_rocketmq.received_message import ReceivedMessage
from pragmatic_ddd_rocketmq.redelivery import Redeliveries

_logger = logging.getLogger(__name__)

_MOST_UNWANTED_NAMES = 1000
_MOST_UNFINISHED = 1000


class SubscribersFailedError(Exception):
    """Subscribers of an event failed; ``__cause__`` is the error of the first.

    Attributes:
        failures: Their outcomes.
    """

    def __init__(self, event_id: str, failures: list[SubscriberOutcome]) -> None:
        super().__init__(event_id, failures)
        self.event_id = event_id
        self.failures = failures

    def __str__(self) -> str:
        lines = (
            f"{each.subscriber.code}: {type(each.error).__name__}: {each.error}"
            for each in self.failures
        )
        return f"event {self.event_id} failed at {'; '.join(lines)}"


def is_final(error: BaseException) -> bool:
    """Say whether trying again is useless: a payload that cannot be read stays so."""
    return isinstance(error, EventDeserializationError)


@attrs.define(eq=False, kw_only=True)
class EventConsumption:
    """Brings received events to subscribers. Called from many threads.

    Attributes:
        group: The consumer group.
        names: Stable names and former names of the subscribed events, to their present names.
        registry: Who wants what.
        dispatcher: Calls subscribers.
        serializer: Reads events.
        metrics: What is counted.
        redeliveries: Tells which try of a message is the last.
        producer: Sends to the broker what a delayed subscriber is to have later.
        delay_level: The broker's delay level for those; 0 for none.
    """

    group: str
    names: Mapping[str, str]
    registry: SubscriberRegistry
    dispatcher: Dispatcher
    serializer: IEventSerializer
    metrics: IEventMetrics
    redeliveries: Redeliveries
    producer: NativeProducer
    delay_level: int = 0
    _done: OrderedDict[str, set[str]] = attrs.field(factory=OrderedDict, init=False)
    _unwanted: set[str] = attrs.field(factory=set, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def handle(self, message: ReceivedMessage) -> None:
        """Call the subscribers of an event that have not succeeded yet; none is fine.

        Raises:
            SubscribersFailedError: One or more failed.
            EventDeserializationError: The message cannot be read, ever.
            UnknownEventTypeError: This code does not know the event, or its version, yet.
        """
        name = self.names.get(message.properties.get(EVENT_TYPE, ""))
        if name is None:
            self._note_unwanted(message)
            return
        is_last_try = self.redeliveries.is_last_try(message.message_id)
        try:
            event = received(message)
            if not self._is_addressed(event.addressee, name):
                return
            decoded = self._decoded(event)
        except Exception as error:
            final = is_last_try or is_final(error)
            for code in self.registry.of(name):
                self.metrics.consume_failed(name, code, final=final)
            raise
        self._dispatch(message, event, decoded, final=is_last_try)

    def _note_unwanted(self, message: ReceivedMessage) -> None:
        """Say once for each kind of event that it is passed over."""
        name = message.properties.get(EVENT_TYPE, "")
        with self._lock:
            if name in self._unwanted or len(self._unwanted) >= _MOST_UNWANTED_NAMES:
                return
            self._unwanted.add(name)
        if name:
            _logger.info(
                "group %s has no subscriber for %s on topic %s: such events are passed over",
                self.group,
                name,
                message.topic,
            )
        else:
            _logger.warning(
                "message %s on topic %s is no event (no property %s): such messages are passed "
                "over",
                message.message_id,
                message.topic,
                EVENT_TYPE,
            )

    def _is_addressed(self, addressee: Addressee, name: str) -> bool:
        if addressee.consumer_group not in (None, self.group):
            return False
        return addressee.subscriber is None or addressee.subscriber in self.registry.of(name)

    def _decoded(self, event: ReceivedEvent) -> DomainEvent:
        message = event.message
        return self.serializer.deserialize(
            message.payload, event_type=message.event_type, event_version=message.event_version
        )

    def _dispatch(
        self, message: ReceivedMessage, event: ReceivedEvent, decoded: DomainEvent, *, final: bool
    ) -> None:
        addressee = event.addressee
        course = self.dispatcher.begin(
            decoded, subscriber=addressee.subscriber, only_this=addressee.only_this
        )
        done = self._done_with(message)
        while ready := course.ready():
            for each in ready:
                if self._is_to_be_delayed(each, addressee):
                    self._delay(message, event, each, done)
                    continue  # not recorded: its successors wait until it comes back
                outcome = SubscriberOutcome(each, Outcome.SUCCEEDED)
                if each.code not in done:
                    outcome = self.dispatcher.call(each, decoded, final=final)
                if outcome.outcome is not Outcome.FAILED:
                    done.add(each.code)
                course.record(outcome)
        if failures := course.failures():
            raise SubscribersFailedError(decoded.event_id, failures) from failures[0].error
        with self._lock:
            self._done.pop(message.message_id, None)

    def _done_with(self, message: ReceivedMessage) -> set[str]:
        """Return the codes of those that succeeded in an earlier try of this message."""
        with self._lock:
            done = self._done.setdefault(message.message_id, set())
            while len(self._done) > _MOST_UNFINISHED:
                self._done.popitem(last=False)
            return done

    def _is_to_be_delayed(self, subscriber: Subscriber, addressee: Addressee) -> bool:
        return (
            self.delay_level > 0
            and subscriber.delivery is Delivery.DELAYED
            and addressee.subscriber != subscriber.code
        )

    def _delay(
        self, message: ReceivedMessage, event: ReceivedEvent, subscriber: Subscriber, done: set[str]
    ) -> None:
        """Have the broker keep a copy back that is for this subscriber of this group alone."""
        if subscriber.code in done:
            return
        addressee = Addressee(subscriber=subscriber.code, consumer_group=self.group)
        self.producer.send(
            outgoing(event.message, message.topic, addressee, delay_level=self.delay_level)
        )
        done.add(subscriber.code)
