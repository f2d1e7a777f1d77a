"""Errors of calling other systems."""

from typing import ClassVar

from pragmatic_ddd.errors.root import InfrastructureError


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
