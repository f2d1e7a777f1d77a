"""Aggregate roots: the entities that guard a boundary of consistency and raise events.

    class Order(AggregateRoot, name="shop.order"):
        total: Money
        paid: bool = False

        def pay(self) -> None:
            self.paid = True
            self.collect_event(OrderPaid(aggregate_id=self.id, total=self.total))

Plain classes, classes that SQLAlchemy maps imperatively, and declarative ones all work; an
instance that an ORM loaded without calling ``__init__`` collects events like any other.

Business methods collect events, record operations and note broken rules. What is left of that is
the business of whoever stores the aggregate: see ``pragmatic_ddd.domain.work_unit_state``.
"""

from collections.abc import Callable
from typing import ClassVar

from pragmatic_ddd.domain.broken_rules import BrokenRule
from pragmatic_ddd.domain.causation import caused_event, checked_operation
from pragmatic_ddd.domain.entity import Entity
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.domain.message_codes import MessageCode
from pragmatic_ddd.domain.names import checked_name
from pragmatic_ddd.domain.operations import (
    EntityOperation,
    OperationRegistry,
    TriggeredOperations,
    checked_registry,
)
from pragmatic_ddd.domain.triggered_events import EventFactory, TriggeredEvents
from pragmatic_ddd.errors import ForeignEventError

# Under which names an instance holds what lasts as long as a unit of work.
EVENTS = "_triggered_events"
OPERATIONS = "_triggered_operations"
BROKEN_RULES = "_broken_rules"
OBSERVER = "_collection_observer"


class AggregateRoot(Entity):
    """An entity that other objects hold by id only, and that is stored as one.

    Business methods call ``collect_event``, ``collect_event_later``, ``record_operation`` and
    ``add_broken_rule``; rules and tests read ``triggered_events``, ``triggered_operations`` and
    ``broken_rules``. ``mark_new`` is for copies, ``trigger_data_sync_hook`` to be overridden, and
    ``clear_work_unit_state`` for repositories of your own.

    Class keywords:
        name: Stable name, such as ``shop.order``; subclasses inherit it.
        operations: The registry of its operations; subclasses inherit it. With one, an operation
            that it does not list is refused, and so is an event without a cause.

    Attributes:
        version: Number of the last stored change, from 1; 0 while it is new. Repositories and
            the ORM raise it; your code does not.
    """

    aggregate_name: ClassVar[str] = ""
    operation_registry: ClassVar[type[OperationRegistry] | None] = None

    version: int = 0

    def __init_subclass__(
        cls, *, name: str | None = None, operations: type[OperationRegistry] | None = None
    ) -> None:
        if name is not None:
            cls.aggregate_name = checked_name(name, cls.__qualname__)
        if operations is not None:
            cls.operation_registry = checked_registry(operations, cls.__qualname__)
        super().__init_subclass__()

    @property
    def is_new(self) -> bool:
        """Whether it has never been stored."""
        # One that was loaded by an ORM which maps no version has no such attribute.
        return not getattr(self, "version", True)

    @property
    def old_version(self) -> int:
        """The version that it was loaded or last stored with; 0 while it is new."""
        return getattr(self, "version", None) or 0

    @property
    def new_version(self) -> int:
        """The version that its next change is stored with, and that its events are stamped with.

        0 for one that was loaded by an ORM which maps no version.
        """
        return self.old_version + 1 if hasattr(self, "version") else 0

    def mark_new(self) -> None:
        """Have it stored as a new one: a copy under another id, not what a session has loaded."""
        self.version = 0

    @property
    def broken_rules(self) -> tuple[BrokenRule, ...]:
        """The rules that its business methods have found broken, in order.

        Units of work and SQLAlchemy sessions with the outbox attached refuse to commit it.
        """
        found: list[BrokenRule] = self.__dict__.get(BROKEN_RULES, [])
        return tuple(found)

    def add_broken_rule(self, message: MessageCode, **parameters: object) -> None:
        """Note a broken rule and go on, where raising would hide the ones after it.

        Raises:
            TypeError: It is no message, or has other parameters.
        """
        broken = BrokenRule(message, parameters)
        self._before_collecting()
        self.__dict__.setdefault(BROKEN_RULES, []).append(broken)

    @property
    def triggered_operations(self) -> TriggeredOperations:
        """The operations recorded since it was last stored, or its events were dropped."""
        operations: TriggeredOperations | None = self.__dict__.get(OPERATIONS)
        if operations is None:
            operations = self.__dict__[OPERATIONS] = TriggeredOperations()
        return operations

    def record_operation(self, operation: EntityOperation | str) -> None:
        """Note which business operation it goes through: the cause of the events after it.

        Raises:
            OperationError: It is not in the registry of the class; nothing was recorded.
            TypeError: It is neither an operation nor the code of one.
        """
        code = self._checked_operation(operation)
        self._before_collecting()
        self.triggered_operations.add(code)

    @property
    def triggered_events(self) -> TriggeredEvents:
        """The events raised since the last time that they were stored or dropped."""
        # Made here, not in __init__, which an ORM does not call when it loads an instance.
        events: TriggeredEvents | None = self.__dict__.get(EVENTS)
        if events is None:
            events = self.__dict__[EVENTS] = TriggeredEvents()
        return events

    def collect_event(
        self, event: DomainEvent, *, operation: EntityOperation | str | None = None
    ) -> None:
        """Raise an event: it is stored with the aggregate's next change, or with neither.

        Args:
            event: A fact about this aggregate.
            operation: The business operation that caused it. Where it is not named, the event's
                own stands, and where that has none, the one recorded last.

        Raises:
            ForeignEventError: The event carries another id; nothing was collected.
            OperationError: The class has a registry of operations, and the cause is not in it,
                or there is none; nothing was collected.
            TypeError: It is no event, or the aggregate's class has no name.
        """
        self._check(event)
        recorded = self._last_operation
        if operation is not None or recorded is not None or self.operation_registry is not None:
            event = self._caused(event, operation, recorded)
        self._before_collecting()
        self.triggered_events.add(event)

    def collect_event_later(
        self, factory: EventFactory, *, operation: EntityOperation | str | None = None
    ) -> None:
        """Raise an event that is built when it is stored, once the database has given ids.

        Args:
            factory: Called once, without arguments, in the storing transaction.
            operation: As for ``collect_event``; what was recorded last is taken now, not then.

        Raises:
            OperationError: The named operation is not in the registry of the class. A cause that
                is missing shows when the event is built.
            TypeError: The aggregate's class has no name.
        """
        recorded = self._last_operation

        def build() -> DomainEvent:
            event = factory()
            self._check(event)
            return self._caused(event, operation, recorded)

        self._check_name()
        if operation is not None:
            self._checked_operation(operation)
        self._before_collecting()
        self.triggered_events.add_later(build)

    def trigger_data_sync_hook(self) -> None:
        """Bring derived fields up to date; called just before the aggregate is written.

        Does nothing: override it for totals, counters and copies that must agree with the rest.
        Repositories and SQLAlchemy sessions with the outbox attached call it. It may be called
        more often than the aggregate is written, and when ``version`` is raised already.
        """

    def clear_work_unit_state(self) -> None:
        """Forget events, operations and broken rules: the unit of work is over.

        What has stored the aggregate calls it. Events that are not stored are gone.
        """
        self.triggered_events.cut_back(0)
        self.__dict__.pop(OPERATIONS, None)
        self.__dict__.pop(BROKEN_RULES, None)

    def _before_collecting(self) -> None:
        observer: Callable[[AggregateRoot], None] | None = self.__dict__.get(OBSERVER)
        if observer is not None:
            observer(self)

    @property
    def _last_operation(self) -> str | None:
        operations: TriggeredOperations | None = self.__dict__.get(OPERATIONS)
        return None if operations is None else operations.last

    def _caused(
        self, event: DomainEvent, named: EntityOperation | str | None, recorded: str | None
    ) -> DomainEvent:
        registry, name = self.operation_registry, self.aggregate_name
        return caused_event(event, registry, name, named=named, recorded=recorded)

    def _checked_operation(self, operation: EntityOperation | str) -> str:
        return checked_operation(operation, self.operation_registry, self.aggregate_name)

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
