"""Who wants which event: the registry that every event manager has one of."""

import inspect
from collections.abc import Callable, Sequence
from typing import TypeVar

import attrs

from pragmatic_ddd.application.events.ordering import SubscriberOrderManager
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import SubscriptionError
from pragmatic_ddd.ports.subscribers import Delivery, Subscriber

EventT = TypeVar("EventT", bound=DomainEvent)


@attrs.define
class SubscriberRegistry:
    """Subscribers by event, in order of registration, each code once per event.

    Filled while the application is wired, by one thread; from ``close`` on it is only read.
    """

    _subscribers: dict[str, dict[str, Subscriber]] = attrs.field(factory=dict, init=False)
    _orders: dict[str, SubscriberOrderManager] = attrs.field(factory=dict, init=False)
    _is_closed: bool = attrs.field(default=False, init=False)

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
        """Register a handler; see ``ISubscriberRegistry``.

        Raises:
            SubscriptionError: The code is taken, the dependencies have a cycle, the event has
                no name, the handler is a coroutine function, or the registry is closed;
                nothing was registered.
        """
        self._check(code, event_type, handler, depends_on)
        subscriber = Subscriber(
            code=code,
            event_type=event_type.event_type,
            handler=handler,
            condition=condition,
            depends_on=frozenset(depends_on),
            delivery=delivery,
        )
        order = self._orders.get(subscriber.event_type)
        if order is None:
            order = SubscriberOrderManager(subscriber.event_type)
        order.add(code, depends_on)
        self._orders[subscriber.event_type] = order
        self._subscribers.setdefault(subscriber.event_type, {})[code] = subscriber

    def close(self) -> None:
        """Take no more subscribers: the event manager starts.

        Raises:
            SubscriptionError: A subscriber depends on one that does not exist, so it would
                never be called; the registry stays open.
        """
        missing = [
            f"{then!r} of {event_type} waits for {first!r}"
            for event_type, order in self._orders.items()
            for first, then in order.missing()
        ]
        if missing:
            raise SubscriptionError(f"no such subscriber: {'; '.join(missing)}")
        self._is_closed = True

    def subscribers(self) -> dict[str, tuple[Subscriber, ...]]:
        """Return all subscribers by the stable name of their event."""
        return {name: tuple(found.values()) for name, found in self._subscribers.items()}

    def dependencies(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Return, by event name, the edges (predecessor's code, successor's code)."""
        return {name: tuple(order.edges()) for name, order in self._orders.items()}

    def of(self, event_type: str) -> dict[str, Subscriber]:
        """Return the subscribers of one event by their code; empty where it has none."""
        return dict(self._subscribers.get(event_type, {}))

    def one(self, event_type: str, code: str) -> Subscriber:
        """Return one subscriber.

        Raises:
            SubscriptionError: There is none with that code.
        """
        try:
            return self._subscribers[event_type][code]
        except KeyError:
            raise SubscriptionError(f"{event_type} has no subscriber {code!r}") from None

    def followers(self, event_type: str, code: str) -> set[str]:
        """Return the codes that depend on a subscriber, directly or through others."""
        return self._orders[event_type].followers(code)

    def _check(self, code: object, event_type: object, handler: object, depends_on: object) -> None:
        if self._is_closed:
            raise SubscriptionError(f"subscriber {code!r}: the event manager has been started")
        if not isinstance(code, str) or not code or not code.isprintable():
            raise SubscriptionError(f"{code!r} is no code: printable text")
        if not isinstance(event_type, type) or not issubclass(event_type, DomainEvent):
            raise SubscriptionError(f"subscriber {code!r}: {event_type!r} is no class of events")
        if not event_type.event_type:
            raise SubscriptionError(
                f"subscriber {code!r}: {event_type.__qualname__} has no name, so it is never raised"
            )
        if isinstance(depends_on, str):
            raise SubscriptionError(f"subscriber {code!r}: depends_on is a sequence of codes")
        if not callable(handler) or is_asynchronous(handler):
            raise SubscriptionError(
                f"subscriber {code!r}: {handler!r} is no plain function, and nobody would await it"
            )


def is_asynchronous(handler: Callable[..., object]) -> bool:
    """Say whether calling a handler would only make a coroutine."""
    called = getattr(handler, "__call__", None)  # noqa: B004  # an object's own, if it has one
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(called)
