"""The errors of the framework, all in one tree.

    PragmaticError
    ├── DomainError                      a rule of the model was broken
    │   ├── BrokenRuleError              the first broken rule of a model
    │   ├── BrokenRuleAggregateError     all broken rules of a model
    │   ├── ForeignEventError            an aggregate collected an event of another aggregate
    │   └── OperationError               an operation is not registered, or an event has no cause
    ├── UnitOfWorkError                  a unit of work was used in a way that it does not allow
    │   ├── AggregateNotFoundError       no aggregate of that type has that id
    │   └── ConcurrencyError             retryable: somebody else changed the aggregate first
    ├── ScrollPositionError              a position is not one of this order, or was changed
    ├── ReconciliationError              retryable: a view differs from its aggregate after a repair
    ├── ConfigurationError               settings or wiring are wrong; names each problem
    ├── SubscriptionError                subscribers cannot be registered, or do not exist, as asked
    ├── EventTypeError                   event classes cannot be registered, or read, as asked
    └── InfrastructureError              a database, a broker or a library failed
        ├── EventPublishError            retryable: this event could not be published
        │   ├── EventUnconfirmedError    retryable: no answer; its fault or the broker's, unknown
        │   ├── BrokerUnavailableError   retryable: it cannot be reached; no event's fault
        │   └── EventRejectedError       final: the broker or the adapter refuses this event
        ├── EventSerializationError      final: a value cannot be written; names event and field
        ├── EventDeserializationError    final: a payload cannot be read; names event and field
        ├── UnknownEventTypeError        retryable: this code does not know the name or the version
        ├── IdAllocationError            retryable: no ids could be reserved, or not in time
        │   ├── UnknownIdSequenceError   final: no sequence has that name
        │   └── IdSequenceExhaustedError final: the sequence has come to its end
        ├── OutboxStoreError             retryable: the database failed
        ├── OutboxSchemaError            final: the live table is not what the outbox needs
        ├── AclError                     another system could not be asked, or not understood
        │   ├── AclConversionError       final: request or answer cannot be converted
        │   ├── AclCommunicationError    retryable: no answer, and repeating does no harm
        │   ├── AclOutcomeUnknownError   final: no answer; what was asked for may have been done
        │   └── AclRefusedError          final: the other system says no
        ├── BroadcastError               a message for other systems was not sent
        │   ├── BroadcastEnvelopeError   final: it cannot be written
        │   └── BroadcastSendError       retryable: not sent, or not confirmed
        └── MissingDependencyError       final: a library is not installed; says what to install

Adapters translate: no SQLAlchemy, RocketMQ or orjson exception crosses a port.
``retryable`` is a class attribute because the relay decides from it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar


class PragmaticError(Exception):
    """The root of the tree.

    Attributes:
        retryable: Whether the same call may succeed later without anybody changing anything.
    """

    retryable: ClassVar[bool] = False


class DomainError(PragmaticError):
    """A rule of the model was broken. Applications derive their own errors from it."""


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


class UnitOfWorkError(PragmaticError):
    """A unit of work was used in a way that it does not allow, such as a second commit."""


class AggregateNotFoundError(UnitOfWorkError):
    """No aggregate of that type has that id.

    Attributes:
        aggregate_name: Stable name of the aggregate's class.
        aggregate_id: The identity that was looked for.
    """

    def __init__(self, aggregate_name: str, aggregate_id: object) -> None:
        super().__init__(aggregate_name, aggregate_id)
        self.aggregate_name = aggregate_name
        self.aggregate_id = aggregate_id

    def __str__(self) -> str:
        return f"there is no {self.aggregate_name} with id {self.aggregate_id!r}"


class ConcurrencyError(UnitOfWorkError):
    """Somebody else changed the aggregate first; nothing of this transaction was stored.

    Load the aggregate again, repeat the change and commit.
    """

    retryable: ClassVar[bool] = True


class ScrollPositionError(PragmaticError):
    """A scroll position cannot be used: nothing was read. Start from the beginning.

    It comes from outside as a rule, so an API answers as to any other bad request.

    Attributes:
        reason: What is wrong with it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"this scroll position cannot be used: {self.reason}"


class ReconciliationError(PragmaticError):
    """A read model's view was repaired, and is still not of its aggregate's version.

    Either a change came in between, or what repairs it does not.

    Attributes:
        read_model: Name of the read model.
        aggregate_id: Identity of the aggregate.
        view_version: Version that the view is of; ``None``: there is no view.
        aggregate_version: Version of the aggregate; ``None``: there is no aggregate.
    """

    retryable: ClassVar[bool] = True

    def __init__(
        self,
        read_model: str,
        aggregate_id: object,
        view_version: int | None,
        aggregate_version: int | None,
    ) -> None:
        super().__init__(read_model, aggregate_id, view_version, aggregate_version)
        self.read_model = read_model
        self.aggregate_id = aggregate_id
        self.view_version = view_version
        self.aggregate_version = aggregate_version

    def __str__(self) -> str:
        return (
            f"{self.read_model} of {self.aggregate_id!r} was repaired, and is of version "
            f"{self.view_version}, not {self.aggregate_version}"
        )


class ConfigurationError(PragmaticError):
    """Settings, or parts that were put together, do not fit; nothing was made of them.

    Attributes:
        problems: One sentence for each: key, value and rule of a setting, or what does not fit.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(tuple(problems))
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "; ".join(self.problems)


class SubscriptionError(PragmaticError):
    """Subscribers are not as asked for; nothing was registered, started or called.

    Registered: its code is taken, or it would wait for itself. Started: one depends on another
    that does not exist. Published: the one that the event is for does not exist.
    """


class EventTypeError(PragmaticError):
    """An event class cannot be registered or read; nothing was registered.

    Its name is missing or taken, a field has a type that does not come back, or a step from an
    older version is missing.
    """


class InfrastructureError(PragmaticError):
    """A collaborator failed. ``__cause__`` carries what it said."""


class EventPublishError(InfrastructureError):
    """An event was not published, or not confirmed. It may have been delivered: send it again.

    Raised as it is, the event is at fault (a subscriber failed, the broker refused it for now):
    the try counts.

    Attributes:
        event_id: The event's id.
        topic: The topic that it was sent to.
        reason: What the adapter knows of the cause.
    """

    retryable: ClassVar[bool] = True

    def __init__(self, event_id: str, topic: str, reason: str) -> None:
        super().__init__(event_id, topic, reason)
        self.event_id = event_id
        self.topic = topic
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"broker did not confirm event {self.event_id} on topic {self.topic!r}: {self.reason}"
        )


class EventUnconfirmedError(EventPublishError):
    """No confirmation, and the client cannot tell whether the event or the broker is at fault.

    The try counts only if the same broker confirmed another event since the previous one.
    """


class BrokerUnavailableError(EventPublishError):
    """The broker cannot be reached: no event's fault, so no event's attempts are counted."""

    def __str__(self) -> str:
        return (
            f"broker is not available for event {self.event_id} on topic {self.topic!r}: "
            f"{self.reason}"
        )


class EventRejectedError(EventPublishError):
    """The broker, or the adapter on its behalf, will never take this event. It was not sent."""

    retryable: ClassVar[bool] = False

    def __str__(self) -> str:
        return f"event {self.event_id} is refused on topic {self.topic!r}: {self.reason}"


class _EventFieldError(InfrastructureError):
    def __init__(self, event_type: str, field: str, reason: str) -> None:
        super().__init__(event_type, field, reason)
        self.event_type = event_type
        self.field = field
        self.reason = reason


class EventSerializationError(_EventFieldError):
    """An event holds a value that cannot be written without loss. Nothing was stored.

    Attributes:
        event_type: Stable name of the event's class.
        field: Path of the field, such as ``lines[2].price``; empty for the event as a whole.
        reason: The value and the rule.
    """

    def __str__(self) -> str:
        return f"cannot serialize {self.event_type}, field {self.field or '(all)'}: {self.reason}"


class EventDeserializationError(_EventFieldError):
    """A payload cannot be read as the event that it claims to be. Retrying cannot help.

    Attributes:
        event_type: Stable name that the message carries.
        field: Path of the field, such as ``lines[2].price``; empty for the payload as a whole.
        reason: What was found and what was expected.
    """

    def __str__(self) -> str:
        return f"cannot deserialize {self.event_type}, field {self.field or '(all)'}: {self.reason}"


class UnknownEventTypeError(InfrastructureError):
    """This process has no class for an event's name, or only an older version of it.

    Retryable: while a deploy is under way, processes of before meet events of after.

    Attributes:
        event_type: Stable name that the message carries.
        event_version: Schema version that the message carries.
    """

    retryable: ClassVar[bool] = True

    def __init__(self, event_type: str, event_version: int) -> None:
        super().__init__(event_type, event_version)
        self.event_type = event_type
        self.event_version = event_version

    def __str__(self) -> str:
        return (
            f"event type {self.event_type!r} in version {self.event_version} is not known here: "
            f"register its class, an alias, or deploy the code that has it"
        )


class IdAllocationError(InfrastructureError):
    """No ids were reserved, or not in time; none was handed out.

    Attributes:
        sequence: Name of the sequence.
        reason: What is wrong, and what helps.
    """

    retryable: ClassVar[bool] = True

    def __init__(self, sequence: str, reason: str) -> None:
        super().__init__(sequence, reason)
        self.sequence = sequence
        self.reason = reason

    def __str__(self) -> str:
        return f"no id of {self.sequence!r}: {self.reason}"


class UnknownIdSequenceError(IdAllocationError):
    """No sequence has that name: it is misspelt, or was never created."""

    retryable: ClassVar[bool] = False


class IdSequenceExhaustedError(IdAllocationError):
    """A sequence has come to its end: the next id would be larger than ids may be."""

    retryable: ClassVar[bool] = False


class OutboxStoreError(InfrastructureError):
    """The outbox could not be read or written; each port method says what is true afterwards."""

    retryable: ClassVar[bool] = True


class OutboxSchemaError(InfrastructureError):
    """The live table, the server, or the character set of a connection does not carry the outbox.

    Attributes:
        problems: One sentence for each thing that is missing or different.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(tuple(problems))
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "; ".join(self.problems)


class AclError(InfrastructureError):
    """A call of another system failed, at the gateway that speaks its language.

    Attributes:
        system: The other system.
        operation: What it was asked for.
        reason: What went wrong; ``__cause__`` is what its client raised.
    """

    def __init__(self, system: str, operation: str, reason: str) -> None:
        super().__init__(system, operation, reason)
        self.system = system
        self.operation = operation
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.system}, {self.operation}: {self.reason}"


class AclConversionError(AclError):
    """Our request cannot be said in the other system's words, or its answer in ours.

    A request that cannot be converted was not sent. An answer that cannot be converted is one:
    what was asked for has been done.
    """


class AclCommunicationError(AclError):
    """The other system did not answer, and the same call may be made again without harm."""

    retryable: ClassVar[bool] = True


class AclOutcomeUnknownError(AclError):
    """The other system did not answer; what was asked for may have been done, or may yet be.

    Not to be repeated blindly: find out, or have a person find out.
    """


class AclRefusedError(AclError):
    """The other system has understood, and says no. Nothing was done."""


class BroadcastError(InfrastructureError):
    """A message for other systems was not sent.

    Attributes:
        message_type: Stable name of the message.
        message_id: Its id; the same call sends the same id again.
        reason: What went wrong.
    """

    def __init__(self, message_type: str, message_id: str, reason: str) -> None:
        super().__init__(message_type, message_id, reason)
        self.message_type = message_type
        self.message_id = message_id
        self.reason = reason

    def __str__(self) -> str:
        return f"cannot broadcast {self.message_type} {self.message_id}: {self.reason}"


class BroadcastEnvelopeError(BroadcastError):
    """The message cannot be written; nothing was sent, and retrying cannot help."""


class BroadcastSendError(BroadcastError):
    """The message was not confirmed. It may have been delivered: send it again."""

    retryable: ClassVar[bool] = True


class MissingDependencyError(InfrastructureError):
    """A library that an adapter needs is not installed, or cannot be loaded."""
