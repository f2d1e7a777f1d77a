"""Ports of reconciliation: what is needed to compare a read model with its aggregates.

An aggregate's version says which of its changes a view has seen, so that two numbers tell
whether a row is up to date, whatever it holds.
"""

from abc import abstractmethod
from typing import Protocol


class IAggregateVersionResolver(Protocol):
    """Knows the versions of aggregates: every ``IRepository`` does."""

    @abstractmethod
    def current_version(self, aggregate_id: object) -> int | None:
        """Return the version that is stored now; ``None`` where there is no such aggregate.

        Raises:
            InfrastructureError: It cannot be found out.
        """


class IReadModelVersionResolver(Protocol):
    """Knows of which versions the views in a read model are.

    Implementations must pass ``ReadModelVersionResolverContract``.
    """

    @abstractmethod
    def version_of(self, aggregate_id: object) -> int | None:
        """Return the version that the read model has seen; ``None`` where it has no view.

        Raises:
            InfrastructureError: It cannot be found out.
        """


class IReadModelResynchronizer(Protocol):
    """Repairs a read model, in a transaction of its own.

    Implementations must pass ``ReadModelResynchronizerContract``.
    """

    @abstractmethod
    def resynchronize(self, aggregate_id: object) -> None:
        """Write the view of the aggregate as it is now, or remove it where there is none.

        A view that is ahead, of a version that the aggregate does not have, is taken back.

        Raises:
            PragmaticError: It did not; the view is as it was.
        """


class IReconcileDedup(Protocol):
    """Keeps many from comparing the same view at the same time. Safe to call from any thread.

    Implementations must pass ``ReconcileDedupContract``.
    """

    @abstractmethod
    def begin(self, read_model: str, aggregate_id: object) -> bool:
        """Say whether nobody has compared it lately; if so, the caller does.

        Of callers at the same time, one hears yes. How long lately is, the implementation says.
        """

    @abstractmethod
    def forget(self, read_model: str, aggregate_id: object) -> None:
        """Let the next caller compare it: the one that began has failed."""
