"""Port: who wants which event, and when it is brought to them."""

import enum
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import attrs

from pragmatic_ddd.domain.events import DomainEvent

EventT = TypeVar("EventT", bound=DomainEvent)

# A handler takes the one event class that it is registered for, so the registry cannot name it.
AnyHandler = Callable[[Any], None]
AnyCondition = Callable[[Any], bool]


class Delivery(enum.Enum):
    """When a subscriber is called.

    Attributes:
        IMMEDIATE: As soon as the event arrives and the subscribers it depends on succeeded.
        DELAYED: The same, after the event manager's configured delay.
    """

    IMMEDIATE = "immediate"
    DELAYED = "delayed"


@attrs.frozen(kw_only=True)
class Subscriber:
    """A registered subscriber.

    Attributes:
        code: Its name, unique among the subscribers of its event.
        event_type: Stable name of the event.
        handler: Called with the event; an exception means that it failed.
        condition: Whether it wants this event; always, where ``None``.
        depends_on: Codes of subscribers of the same event that must have succeeded before.
        delivery: When it is called.
    """

    code: str
    event_type: str
    handler: AnyHandler
    condition: AnyCondition | None = None
    depends_on: frozenset[str] = frozenset()
    delivery: Delivery = Delivery.IMMEDIATE


class ISubscriberRegistry(Protocol):
    """Knows who wants which event."""

    @abstractmethod
    def register_subscriber(
        self,
        code: str,
        event_type: type[EventT],
        handler: Callable[[EventT], None],
        *,
        condition: Callable[[EventT], bool] | None = None,
        depends_on: Sequence[str] = (),
        delivery: Delivery = Delivery.IMMEDIATE,
    ) -> None:
        """Register a handler, before ``start()``.

        Args:
            code: Its name, unique among the subscribers of this event.
            event_type: The event's class.
            handler: Called with the event, possibly more than once for the same ``event_id``.
            condition: Asked for each event; ``False`` means that it is not called.
            depends_on: Codes that must have succeeded before; they may be registered later, but
                before ``start()``, which raises a ``SubscriptionError`` where one is missing. A
                subscriber that did not want the event holds back nobody.
            delivery: Whether it is called at once or after a delay.

        Raises:
            SubscriptionError: The code is taken, the dependencies have a cycle, or the manager
                has been started; nothing was registered.
        """

    @abstractmethod
    def subscribers(self) -> Mapping[str, Sequence[Subscriber]]:
        """Return all subscribers by the stable name of their event, in order of registration."""

    @abstractmethod
    def dependencies(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Return, by event name, the edges (predecessor's code, successor's code)."""
