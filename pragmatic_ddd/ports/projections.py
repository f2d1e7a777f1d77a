"""Port: where the rows of a read model are written."""

from abc import abstractmethod
from typing import Protocol, TypeVar

ViewT_contra = TypeVar("ViewT_contra", contravariant=True)


class IProjectionMaterializer(Protocol[ViewT_contra]):
    """Writes views of aggregates, in the caller's transaction. Writing is safe in any order.

    Removing is not: it leaves nothing behind that a late view could be compared with. Where one
    may come late, write a view that says that its aggregate is gone, with the version of its end.
    Implementations must pass ``ProjectionMaterializerContract``.
    """

    @abstractmethod
    def materialize(self, view: ViewT_contra, *, version: int) -> bool:
        """Write the view of an aggregate, unless one of the same or a later version is there.

        Events are delivered at least once: whatever comes twice, or late, changes nothing; but a
        view that comes after ``remove`` may be written again.

        Args:
            view: What to write; it names its aggregate.
            version: The aggregate's, of which it is a view, from 1.

        Returns:
            Whether it was written.

        Raises:
            OutboxStoreError: The database failed or refused it; nothing was written.
            TypeError: It is no such view; nothing was written.
            ValueError: The version is below 1.
        """

    @abstractmethod
    def remove(self, aggregate_id: object) -> bool:
        """Delete the view of an aggregate that was deleted; return whether there was one.

        A view that is materialized afterwards is there again, whatever its version. Who makes
        views from events, which may come late, writes one that says that the aggregate is
        deleted instead, with the version of that change.

        Raises:
            OutboxStoreError: The database failed; nothing was deleted.
        """
