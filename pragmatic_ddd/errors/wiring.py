"""Errors of how an application is put together."""

from collections.abc import Sequence

from pragmatic_ddd.errors.root import InfrastructureError, PragmaticError


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


class MissingDependencyError(InfrastructureError):
    """A library that an adapter needs is not installed, or cannot be loaded."""
