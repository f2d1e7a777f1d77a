"""What a received event is to this process's subscribers, whatever broker brought it.

    handle ──▶ no subscriber here ──────────────────▶ passed over
           ──▶ for another subscriber or group ─────▶ passed over
           ──▶ cannot be read ──────────────────────▶ EventDeserializationError: no try can help
           ──▶ subscribers, in order of dependence ─▶ all have succeeded, or SubscribersFailedError:
                                                      no try can help where no inbox can place it

Whether and when a failed message is tried again is the adapter's decision. A subscriber that
succeeded is not called again because another one failed, as long as the message is tried again
in this process.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TypeAlias

import attrs

from pragmatic_ddd.application.event_origin import with_origin
from pragmatic_ddd.application.events.addressee import Addressee
from pragmatic_ddd.application.events.consumption_errors import (
    SubscribersFailedError,
    is_final,
    is_unplaced,
)
from pragmatic_ddd.application.events.dispatch import Dispatcher, Outcome, SubscriberOutcome
from pragmatic_ddd.application.events.received_event import ReceivedEvent
from pragmatic_ddd.application.events.subscribers import SubscriberRegistry
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd.ports.metrics import IEventMetrics
from pragmatic_ddd.ports.serialization import IEventSerializer, IEventTypeCatalogue
from pragmatic_ddd.ports.subscribers import Delivery, Subscriber

Delay: TypeAlias = Callable[[ReceivedEvent, Subscriber], None]

_logger = logging.getLogger(__name__)

_MOST_UNWANTED_NAMES = 1000
_MOST_UNFINISHED = 1000


@attrs.define(eq=False, kw_only=True)
class EventConsumption:
    """Brings received events to subscribers. Safe to call from many threads.

    Attributes:
        group: The consumer group.
        names: Stable names and former names of the subscribed events, to their present names.
        registry: Who wants what.
        dispatcher: Calls subscribers.
        serializer: Reads events.
        metrics: What is counted.
        delay: Has the broker bring an event later. It is given the event, addressed to that
            subscriber of this group alone, and the subscriber; once it has returned, the
            original need not come again for it. ``None``: subscribers with ``DELAYED``
            delivery are called like all others.
    """

    group: str
    names: Mapping[str, str]
    registry: SubscriberRegistry
    dispatcher: Dispatcher
    serializer: IEventSerializer
    metrics: IEventMetrics
    delay: Delay | None = None
    # By message and subscriber: what stands, so that the subscriber is not called again.
    _done: OrderedDict[str, dict[str, SubscriberOutcome]] = attrs.field(
        factory=OrderedDict, init=False
    )
    _unwanted: set[str] = attrs.field(factory=set, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def handle(
        self,
        event_type: str,
        read: Callable[[], ReceivedEvent],
        *,
        key: str,
        final: bool,
        where: str,
    ) -> None:
        """Call the subscribers of an event that have not succeeded yet; none is fine.

        When it returns, the message is done with. When it raises, those subscribers that have
        succeeded are not called again if the message comes again under the same key.

        Args:
            event_type: The attribute ``type``; empty where the message has none.
            read: Reads the message; called only if it has subscribers here.
            key: What identifies the message over its tries in this process.
            final: Whether this is its last try.
            where: Which message this is, for people: its id, topic and place.

        Raises:
            SubscribersFailedError: One or more failed.
            EventDeserializationError: The message cannot be read, ever; see ``is_final``.
            UnknownEventTypeError: This code does not know the event, or its version, yet.
            Exception: What ``delay`` raised; the message must come again.
        """
        name = self.names.get(event_type)
        if name is None:
            self._note_unwanted(event_type, where)
            return
        try:
            received = read()
            if not self._is_addressed(received.addressee, name):
                return
            event = self._decoded(received)
        except Exception as error:
            for code in self.registry.of(name):
                self.metrics.consume_failed(name, code, final=final or is_final(error))
            raise
        self._dispatch(received, event, key=key, final=final)

    def _note_unwanted(self, event_type: str, where: str) -> None:
        """Say once for each kind of event that it is passed over.

        On a topic that is shared that is the normal case. But where not even the serializer knows
        the name, the event may have been renamed, and this group would lose it in silence.
        """
        with self._lock:
            if event_type in self._unwanted or len(self._unwanted) >= _MOST_UNWANTED_NAMES:
                return
            self._unwanted.add(event_type)
        if event_type and self._is_known(event_type):
            _logger.info(
                "%s: group %s has no subscriber for %s: such events are passed over",
                where,
                self.group,
                event_type,
            )
        elif event_type:
            _logger.warning(
                "%s: group %s has no subscriber for %s, nor is that name registered here: such "
                "events are passed over, and lost to this group; is it a new name of one of its "
                "events?",
                where,
                self.group,
                event_type,
            )
        else:
            _logger.warning(
                "%s: it is no event (no attribute type): such messages are passed over", where
            )

    def _is_known(self, event_type: str) -> bool:
        """Say whether the serializer knows a name; one that cannot tell is taken to."""
        if isinstance(self.serializer, IEventTypeCatalogue):
            return self.serializer.knows(event_type)
        return True

    def _is_addressed(self, addressee: Addressee, name: str) -> bool:
        if addressee.consumer_group not in (None, self.group):
            return False
        return addressee.subscriber is None or addressee.subscriber in self.registry.of(name)

    def _decoded(self, received: ReceivedEvent) -> DomainEvent:
        message = received.message
        event = self.serializer.deserialize(
            message.payload, event_type=message.event_type, event_version=message.event_version
        )
        if event.event_id != message.message_id:
            event = _named(event, message.message_id)
        return with_origin(event, message)

    def _dispatch(
        self, received: ReceivedEvent, event: DomainEvent, *, key: str, final: bool
    ) -> None:
        addressee = received.addressee
        course = self.dispatcher.begin(
            event, subscriber=addressee.subscriber, only_this=addressee.only_this
        )
        done = self._done_with(key)
        while ready := course.ready():
            for each in ready:
                if self._is_to_be_delayed(each, addressee):
                    self._delay(received, each, done)
                    continue  # not recorded: its successors wait until it comes back
                outcome = done.get(each.code) or self._called(each, event, final=final)
                if outcome.outcome is not Outcome.FAILED or _is_hopeless(outcome, event):
                    done[each.code] = outcome
                course.record(outcome)
        if failures := course.failures():
            error = SubscribersFailedError(event.event_type, event.event_id, failures)
            if final or is_final(error):
                for failure in failures:  # if it is replayed it may have been mended
                    done.pop(failure.subscriber.code, None)
            raise error from failures[0].error
        with self._lock:
            self._done.pop(key, None)

    def _called(
        self, subscriber: Subscriber, event: DomainEvent, *, final: bool
    ) -> SubscriberOutcome:
        return self.dispatcher.call(
            subscriber,
            event,
            final=final,
            is_useless=lambda error: is_unplaced(error, event.event_id),
        )

    def _done_with(self, key: str) -> dict[str, SubscriberOutcome]:
        """Return the outcomes of those that need not be called again for this message."""
        with self._lock:
            done = self._done.setdefault(key, {})
            while len(self._done) > _MOST_UNFINISHED:
                self._done.popitem(last=False)
            return done

    def _is_to_be_delayed(self, subscriber: Subscriber, addressee: Addressee) -> bool:
        return (
            self.delay is not None
            and subscriber.delivery is Delivery.DELAYED
            and addressee.subscriber != subscriber.code
        )

    def _delay(
        self,
        received: ReceivedEvent,
        subscriber: Subscriber,
        done: dict[str, SubscriberOutcome],
    ) -> None:
        """Have the broker keep a copy back that is for this subscriber of this group alone."""
        if self.delay is None or subscriber.code in done:
            return
        addressee = Addressee(subscriber=subscriber.code, consumer_group=self.group)
        self.delay(attrs.evolve(received, addressee=addressee), subscriber)
        done[subscriber.code] = SubscriberOutcome(subscriber, Outcome.SUCCEEDED)


def _is_hopeless(outcome: SubscriberOutcome, event: DomainEvent) -> bool:
    return is_unplaced(outcome.error, event.event_id)


def _named(event: DomainEvent, event_id: str) -> DomainEvent:
    """Return an event with the id of its message: a body without one has another in each try."""
    named = object.__new__(type(event))
    named.__dict__.update(event.__dict__, event_id=event_id)
    try:
        attrs.validate(named)  # type: ignore[arg-type]  # its base made it an attrs class
    except ValueError as error:
        raise EventDeserializationError(event.event_type, "event_id", str(error)) from error
    return named
