"""What an aggregate holds for as long as a unit of work lasts, for those who store it.

Units of work, sessions and repositories use it; business methods and their callers have no need
to. Events are in ``AggregateRoot.triggered_events``.
"""

from collections.abc import Callable

from pragmatic_ddd.domain.aggregate import (
    BROKEN_RULES,
    EVENTS,
    OBSERVER,
    OPERATIONS,
    AggregateRoot,
)
from pragmatic_ddd.domain.broken_rules import BrokenRule
from pragmatic_ddd.domain.operations import TriggeredOperations
from pragmatic_ddd.domain.triggered_events import TriggeredEvents

# Attributes of an instance that are none of its state.
WORK_UNIT_STATE = frozenset({EVENTS, OPERATIONS, BROKEN_RULES, OBSERVER})

CollectionObserver = Callable[[AggregateRoot], None]


def has_collected(aggregate: AggregateRoot) -> bool:
    """Say whether it holds events, operations or broken rules of a change not yet stored."""
    held = vars(aggregate)
    events: TriggeredEvents | None = held.get(EVENTS)
    operations: TriggeredOperations | None = held.get(OPERATIONS)
    return bool(events) or bool(operations) or BROKEN_RULES in held


def observe_collection(aggregate: AggregateRoot, observer: CollectionObserver | None) -> None:
    """Have ``observer`` called before an event, an operation or a broken rule is noted.

    A session keeps the aggregate alive from then on, and remembers how many events it had, so
    that a savepoint can take back what was raised inside it. ``None`` ends that.
    """
    vars(aggregate)[OBSERVER] = observer


def pull_broken_rules(aggregate: AggregateRoot) -> tuple[BrokenRule, ...]:
    """Return the broken rules and forget them: who checks the aggregate deals with them."""
    found: list[BrokenRule] = vars(aggregate).pop(BROKEN_RULES, [])
    return tuple(found)


def forget_operations(aggregate: AggregateRoot) -> None:
    """Forget the recorded operations: what they were part of is stored, or given up."""
    vars(aggregate).pop(OPERATIONS, None)
