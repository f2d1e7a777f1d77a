"""Errors of the outbox's database."""

from collections.abc import Sequence
from typing import ClassVar

from pragmatic_ddd.errors.root import InfrastructureError


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
