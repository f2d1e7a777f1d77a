"""Errors of the read side."""

from typing import ClassVar

from pragmatic_ddd.errors.root import PragmaticError


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
