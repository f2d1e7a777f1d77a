"""Port: the event manager, which publishes events and brings them to their subscribers.

Three roles in one: publisher, registry of subscribers, and something with a life. Code asks
for the role that it uses; every event manager fits.

One event is one message, whether or not this process has subscribers for it. Each consuming
service dispatches the message to its own subscribers.
"""

import datetime as dt
from abc import abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

import attrs
from attrs import validators

from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd.ports.subscribers import ISubscriberRegistry


@attrs.frozen
class Receipt:
    """What a broker answered when it confirmed an event. Kept with the row.

    Attributes:
        text: Message id and position, as the broker's own tools show them; at most 500
            characters are kept.
    """

    text: str = attrs.field(validator=validators.instance_of(str))


class IStoredEventPublisher(Protocol):
    """Publishes messages of the outbox as they were stored. Safe to call from any thread."""

    @property
    @abstractmethod
    def longest_call(self) -> dt.timedelta:
        """Upper bound of one ``publish_stored``, whatever the broker does; it never changes."""

    @property
    @abstractmethod
    def side_by_side(self) -> int:
        """How many calls are worth making at once, at least 1; never two of one aggregate."""

    @abstractmethod
    def publish_stored(self, message: OutboxMessage) -> Receipt:
        """Publish the stored bytes and headers; return when the broker has confirmed them.

        In process: return when the root subscribers have succeeded. One try: repeating is the
        caller's decision. Two calls for the same aggregate must not overlap.

        Raises:
            BrokerUnavailableError: The broker cannot be reached; not this message's fault.
            EventRejectedError: It will never be taken; it was not sent.
            EventUnconfirmedError: No confirmation, for a cause that the client cannot tell; it
                may or may not have been delivered.
            EventPublishError: It failed by its own fault, and may succeed later.
            UnknownEventTypeError: In process: this code does not know the event (yet).
            EventDeserializationError: In process: the payload cannot be read, ever.
        """


class IPipelinedEventPublisher(IStoredEventPublisher, Protocol):
    """One whose client has many messages under way at once; the relay then calls it with many.

    ``longest_call`` bounds ``publish_many`` as well. The eager publisher, whose messages come one
    by one, goes on to call ``publish_stored``: what a subclass does around one belongs around both.
    """

    @abstractmethod
    def publish_many(self, messages: Sequence[OutboxMessage]) -> Sequence[Receipt | Exception]:
        """Publish messages of different aggregates; return when each is confirmed or has failed.

        One try each, as with ``publish_stored``. One that fails does not keep the others.

        Args:
            messages: At least one, and no two of the same aggregate.

        Returns:
            In their order, for each its receipt, or the error that ``publish_stored`` would raise.

        Raises:
            BrokerUnavailableError: Of none of them is anything known. So it is after any other
                error, too: each may have been delivered, and none is to blame.
        """


class ITopicPublisher(Protocol):
    """Publishes messages to topics that its caller names; every event manager over a broker does.

    Safe to call from any thread.
    """

    @abstractmethod
    def publish_to(self, topic: str, message: OutboxMessage) -> Receipt:
        """Publish a message as it is; return when the broker has confirmed it.

        One try: repeating is the caller's decision. Two calls for the same aggregate must not
        overlap.

        Args:
            topic: Where it goes; no ``ITopicResolver`` is asked.
            message: Its bytes and headers. Its id, type and aggregate id are not empty.

        Raises:
            ValueError: The broker can have no such topic; nothing was sent.
            EventPublishError: As ``IStoredEventPublisher.publish_stored``.
        """


class IEventPublisher(Protocol):
    """Publishes events directly, without an outbox: what is not confirmed may be lost."""

    @abstractmethod
    def publish(
        self, event: DomainEvent, *, subscriber: str | None = None, only_this: bool = False
    ) -> Receipt:
        """Publish one event; return when it is confirmed.

        In process that may mean that it was handed to threads, which repeat what fails.

        Args:
            event: A named event.
            subscriber: Code of the one subscriber that it is for; all of them, where ``None``.
            only_this: With ``subscriber``: do not go on to those that depend on it.

        Raises:
            EventPublishError: As ``publish_stored``.
            EventSerializationError: A value cannot be written; nothing was sent.
            SubscriptionError: In process: there is no such subscriber.
        """

    @abstractmethod
    def publish_all(self, events: Sequence[DomainEvent]) -> list[Receipt]:
        """Publish events in the given order, stopping at the first that fails.

        Raises:
            EventPublishError: As ``publish``; the events before it were confirmed.
        """


class ILifecycle(Protocol):
    """Something that is started once and shut down once."""

    @abstractmethod
    def start(self) -> None:
        """Begin to work. A second call does nothing; a start after ``shutdown`` is an error.

        Raises:
            InfrastructureError: It cannot begin; it holds no resources and may be started again.
        """

    @abstractmethod
    def shutdown(self) -> None:
        """Finish what is in hand within a bound, let go of all resources. Never raises.

        A second call does nothing; nothing is published afterwards.
        """


class IEventManager(
    IEventPublisher, IStoredEventPublisher, ISubscriberRegistry, ILifecycle, Protocol
):
    """Publisher, registry and lifecycle, and a context manager for its life.

    Implementations must pass ``EventManagerContract``.
    """

    @abstractmethod
    def __enter__(self) -> Self:
        """Start, and return itself."""

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Shut down."""
