"""Which operation has caused an event, and what a registry of operations refuses."""

from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.domain.operations import EntityOperation, OperationRegistry, code_of
from pragmatic_ddd.errors import OperationError

Registry = type[OperationRegistry] | None


def checked_operation(
    operation: EntityOperation | str, registry: Registry, aggregate_name: str
) -> str:
    """Return the code of an operation that an aggregate may go through.

    Raises:
        OperationError: There is a registry, and the operation is not in it.
        TypeError: It is neither an operation nor the code of one.
    """
    code = code_of(operation)
    if registry is not None and registry.find(code) is None:
        raise OperationError(aggregate_name, code)
    return code


def caused_event(
    event: DomainEvent,
    registry: Registry,
    aggregate_name: str,
    *,
    named: EntityOperation | str | None,
    recorded: str | None,
) -> DomainEvent:
    """Return an event with its cause: what was named, else its own, else what was recorded.

    Raises:
        OperationError: There is a registry, and the cause is not in it, or there is none.
    """
    if named is not None:
        return event.caused_by(checked_operation(named, registry, aggregate_name))
    own = event.operation_code
    if own is None and recorded is not None:
        return event.caused_by(recorded)
    if registry is not None:
        if own is None:
            raise OperationError(aggregate_name, None, event.event_type)
        checked_operation(own, registry, aggregate_name)
    return event
