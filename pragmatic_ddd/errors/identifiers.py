"""Errors of handing out identifiers."""

from typing import ClassVar

from pragmatic_ddd.errors.root import InfrastructureError


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
