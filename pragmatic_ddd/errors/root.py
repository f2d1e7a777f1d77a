"""The roots of the tree."""

from typing import ClassVar


class PragmaticError(Exception):
    """The root of the tree.

    Attributes:
        retryable: Whether the same call may succeed later without anybody changing anything.
    """

    retryable: ClassVar[bool] = False


class DomainError(PragmaticError):
    """A rule of the model was broken. Applications derive their own errors from it."""


class InfrastructureError(PragmaticError):
    """A collaborator failed. ``__cause__`` carries what it said."""
