"""Errors of the model: rules, operations, and events of the wrong aggregate."""

from collections.abc import Iterator, Mapping, Sequence

from pragmatic_ddd.errors.root import DomainError


class BrokenRuleError(DomainError):
    """A rule of a model does not hold: the first one, where the check stopped there.

    Attributes:
        code: The code of the rule's message.
        text: The message, with its parameters filled in.
        parameters: What the text is about, by name; for a text in another language.
    """

    def __init__(self, code: str, text: str, parameters: Mapping[str, object]) -> None:
        super().__init__(code, text, parameters)
        self.code = code
        self.text = text
        self.parameters = dict(parameters)

    def __str__(self) -> str:
        return f"{self.text} [{self.code}]"


class BrokenRuleAggregateError(DomainError):
    """Rules of a model do not hold: all of them, in their order. Iterate over it for each.

    It is no ``ExceptionGroup``: ``except*`` and task groups take those apart, and these belong
    together, on one screen.

    Attributes:
        errors: One for each broken rule.
    """

    def __init__(self, errors: Sequence[BrokenRuleError]) -> None:
        super().__init__(tuple(errors))
        self.errors = tuple(errors)

    def __iter__(self) -> Iterator[BrokenRuleError]:
        return iter(self.errors)

    def __len__(self) -> int:
        return len(self.errors)

    def __str__(self) -> str:
        return "; ".join(map(str, self.errors))


class ForeignEventError(DomainError):
    """An aggregate was asked to collect an event that carries another aggregate's id.

    Nothing was collected. Or, where its id was changed afterwards, nothing was stored.

    Attributes:
        aggregate_name: Stable name of the aggregate's class.
        aggregate_id: Identity of the aggregate that refused.
        event_type: Stable name of the event's class.
        event_aggregate_id: The identity that the event carries.
    """

    def __init__(
        self, aggregate_name: str, aggregate_id: object, event_type: str, event_aggregate_id: object
    ) -> None:
        super().__init__(aggregate_name, aggregate_id, event_type, event_aggregate_id)
        self.aggregate_name = aggregate_name
        self.aggregate_id = aggregate_id
        self.event_type = event_type
        self.event_aggregate_id = event_aggregate_id

    def __str__(self) -> str:
        refusal = (
            f"{self.aggregate_name} {self.aggregate_id!r} cannot collect {self.event_type} "
            f"of {self.event_aggregate_id!r}: "
        )
        if self.aggregate_id is None:
            return refusal + (
                "its id is not given yet; raise the event with collect_event_later(), which "
                "builds it once the database has given the id"
            )
        return refusal + "an event belongs to the aggregate that raises it"


class OperationError(DomainError):
    """An operation is not registered, or an event of an aggregate with operations has no cause.

    Nothing was recorded or collected.

    Attributes:
        aggregate_name: Stable name of the aggregate's class.
        operation_code: The code that is not registered; ``None`` where no operation was recorded.
        event_type: Stable name of the event; ``None`` where an operation was to be recorded.
    """

    def __init__(
        self, aggregate_name: str, operation_code: str | None, event_type: str | None = None
    ) -> None:
        super().__init__(aggregate_name, operation_code, event_type)
        self.aggregate_name = aggregate_name
        self.operation_code = operation_code
        self.event_type = event_type

    def __str__(self) -> str:
        if self.operation_code is None:
            return (
                f"{self.aggregate_name} cannot collect {self.event_type or 'an event'} without "
                f"its cause: record_operation() first, or name the operation"
            )
        return f"{self.aggregate_name} has no operation {self.operation_code!r}: register it"
