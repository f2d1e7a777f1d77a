"""Aggregate roots: the entities that guard a boundary of consistency and raise events.

    class Order(AggregateRoot, name="shop.order"):
        total: Money
        paid: bool = False

        def pay(self) -> None:
            self.paid = True
            self.collect_event(OrderPaid(aggregate_id=self.id, total=self.total))

Plain classes, classes that SQLAlchemy maps imperatively, and declarative ones all work; an
instance that an ORM loaded without calling ``__init__`` collects events like any other.
"""

from collections.abc import Callable
from typing import ClassVar

from pragmatic_ddd.domain.entity import Entity
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.domain.names import checked_name
from pragmatic_ddd.domain.triggered_events import EventFactory, TriggeredEvents
from pragmatic_ddd.errors import ForeignEventError

_EVENTS = "_triggered_events"
_OBSERVER = "_collection_observer"

CollectionObserver = Callable[["AggregateRoot"], None]


class AggregateRoot(Entity):
    """An entity that other objects hold by id only, and that is stored as one.

    Class keywords:
        name: Stable name, such as ``shop.order``; subclasses inherit it.

    Attributes:
        version: Number of the last stored change, from 1; 0 while it is new. Repositories and
            the ORM raise it; your code does not.
    """

    aggregate_name: ClassVar[str] = ""

    version: int = 0

    def __init_subclass__(cls, *, name: str | None = None) -> None:
        if name is not None:
            cls.aggregate_name = checked_name(name, cls.__qualname__)
        super().__init_subclass__()

    @property
    def is_new(self) -> bool:
        """Whether it has never been stored."""
        # One that was loaded by an ORM which maps no version has no such attribute.
        return not getattr(self, "version", True)

    @property
    def triggered_events(self) -> TriggeredEvents:
        """The events raised since the last time that they were stored or dropped."""
        # Made here, not in __init__, which an ORM does not call when it loads an instance.
        events: TriggeredEvents | None = self.__dict__.get(_EVENTS)
        if events is None:
            events = self.__dict__[_EVENTS] = TriggeredEvents()
        return events

    def collect_event(self, event: DomainEvent, *, operation: str | None = None) -> None:
        """Raise an event: it is stored with the aggregate's next change, or with neither.

        Args:
            event: A fact about this aggregate.
            operation: Code of the business operation that caused it.

        Raises:
            ForeignEventError: The event carries another id; nothing was collected.
            TypeError: It is no event, or the aggregate's class has no name.
        """
        self._check(event)
        self._before_collecting()
        self.triggered_events.add(event if operation is None else event.caused_by(operation))

    def collect_event_later(self, factory: EventFactory) -> None:
        """Raise an event that is built when it is stored, once the database has given ids.

        Args:
            factory: Called once, without arguments, in the storing transaction.

        Raises:
            TypeError: The aggregate's class has no name.
        """

        def build() -> DomainEvent:
            event = factory()
            self._check(event)
            return event

        self._check_name()
        self._before_collecting()
        self.triggered_events.add_later(build)

    def trigger_data_sync_hook(self) -> None:
        """Bring derived fields up to date; a repository calls it just before it writes.

        Does nothing: override it for totals, counters and copies that must agree with the rest.
        It may be called more often than the aggregate is written.
        """

    def observe_collection(self, observer: CollectionObserver | None) -> None:
        """Have ``observer`` called before each event is collected; ``None`` ends that.

        For adapters: a session keeps an aggregate alive from then on, and remembers how many
        events it had, so that a savepoint can take back what was raised inside it.
        """
        self.__dict__[_OBSERVER] = observer

    def _before_collecting(self) -> None:
        observer: CollectionObserver | None = self.__dict__.get(_OBSERVER)
        if observer is not None:
            observer(self)

    def _check(self, event: DomainEvent) -> None:
        self._check_name()
        if not isinstance(event, DomainEvent):
            raise TypeError(f"{self.aggregate_name} cannot collect {event!r}: no DomainEvent")
        if self.id is None or str(self.id) != event.aggregate_id:
            raise ForeignEventError(
                self.aggregate_name, self.id, event.event_type, event.aggregate_id
            )

    def _check_name(self) -> None:
        if not self.aggregate_name:
            cls = type(self).__name__
            raise TypeError(
                f'{cls} has no name, so it raises no events: class {cls}(AggregateRoot, name="...")'
            )
