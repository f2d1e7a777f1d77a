"""Errors of units of work."""

from typing import ClassVar

from pragmatic_ddd.errors.root import PragmaticError


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
