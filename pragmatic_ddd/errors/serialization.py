"""Errors of writing and reading events."""

from typing import ClassVar

from pragmatic_ddd.errors.root import InfrastructureError


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
