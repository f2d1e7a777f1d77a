"""Subscribers whose aggregate remembers by itself: its state shows that an event was applied.

    load ──▶ the state shows it ──▶ nothing
         ──▶ it does not ──▶ apply, commit; who was faster has changed the version, and this one
                             fails, comes again, and finds the state that shows it

No table, and nothing to purge. It takes an aggregate with a version, and a state that is never
left for one that no longer shows the event.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

import attrs

from pragmatic_ddd.application.arguments import can_be_called, check_class
from pragmatic_ddd.application.events.dispatch import refuse_unfinished
from pragmatic_ddd.domain.aggregate import AggregateRoot
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd.ports.unit_of_work import IUnitOfWork

EventT = TypeVar("EventT", bound=DomainEvent)
AggregateT = TypeVar("AggregateT", bound=AggregateRoot)


def _own_aggregate(event: DomainEvent) -> object:
    return event.aggregate_id


@attrs.frozen(kw_only=True)
class StateSubscriber(Generic[EventT, AggregateT]):
    """Applies each event to an aggregate whose state does not show it; made by ``once_by_state``.

    Attributes:
        units_of_work: Makes a unit of work, which is committed here.
        aggregate_type: The class of the aggregate.
        is_applied: Whether its state shows that the event was applied.
        apply: Changes it.
        id_of: The aggregate's id, from the event.
    """

    units_of_work: Callable[[], IUnitOfWork] = attrs.field(validator=can_be_called())
    aggregate_type: type[AggregateT]
    is_applied: Callable[[AggregateT, EventT], bool] = attrs.field(validator=can_be_called())
    apply: Callable[[AggregateT, EventT], object] = attrs.field(validator=can_be_called())
    id_of: Callable[[EventT], object] = attrs.field(
        default=_own_aggregate, validator=can_be_called()
    )

    def __attrs_post_init__(self) -> None:
        check_class("aggregate_type", self.aggregate_type, AggregateRoot)

    def __call__(self, event: EventT) -> None:
        """Apply an event unless the aggregate shows that it was.

        Raises:
            AggregateNotFoundError: There is no such aggregate; its events may come later.
            ConfigurationError: It has no version: of two deliveries at once, both would apply it.
            ConcurrencyError: Somebody else was faster; have the event delivered again.
            Exception: Of the unit of work, or of what is called; nothing was stored.
        """
        with self.units_of_work() as work:
            aggregate = work.get(self.aggregate_type, self.id_of(event))
            if not aggregate.new_version:
                name = aggregate.aggregate_name
                raise ConfigurationError([f"{name} has no version, by which only one can apply it"])
            if self.is_applied(aggregate, event):
                return
            refuse_unfinished(self.apply(aggregate, event))
            work.add(aggregate)
            work.commit()


def once_by_state(
    units_of_work: Callable[[], IUnitOfWork],
    aggregate_type: type[AggregateT],
    *,
    is_applied: Callable[[AggregateT, EventT], bool],
    apply: Callable[[AggregateT, EventT], object],
    id_of: Callable[[EventT], object] = _own_aggregate,
) -> StateSubscriber[EventT, AggregateT]:
    """Return a subscriber that applies each event to an aggregate once.

    Args:
        units_of_work: Makes a unit of work.
        aggregate_type: The class of the aggregate; it has a version.
        is_applied: Whether the aggregate's state shows that the event was applied, or that it
            must not be any more.
        apply: Changes the aggregate, such as by one of its methods.
        id_of: The aggregate's id, from the event: by default the event's own ``aggregate_id``.

    Raises:
        TypeError: Something else was given than is asked for.
    """
    return StateSubscriber(
        units_of_work=units_of_work,
        aggregate_type=aggregate_type,
        is_applied=is_applied,
        apply=apply,
        id_of=id_of,
    )
