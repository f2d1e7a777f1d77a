"""Entity: an object with an identity that outlives its values."""

import datetime as dt
from typing import Any, cast

from pragmatic_ddd.domain.model import MutableModel

# What an entity has beside its fields.
MARKS = ("is_deleted", "created_at", "created_by", "updated_at", "updated_by")


class Entity(MutableModel):
    """Equal to another of exactly its class with the same id; without an id, to itself only.

    The marks below are no fields: an instance has them once they are set, and until then reads
    the class. Map columns of their names where they are to be stored, or annotate them as fields
    of a subclass where its constructor is to take them.

    Attributes:
        id: The identity: text, UUID or integer; ``None`` until the database has given it.
            A subclass may narrow the type by annotating ``id`` again.
        is_deleted: Whether it counts as deleted, though it is still stored.
        created_at: When it was made, by the application's clock.
        created_by: Who made it.
        updated_at: When it was last changed.
        updated_by: Who changed it.
    """

    id: Any  # any type of identity: a subclass narrows it

    # Without annotations, so that attrs makes no fields of them: no instance pays for them.
    is_deleted = False
    created_at = cast("dt.datetime | None", None)
    created_by = cast("str | None", None)
    updated_at = cast("dt.datetime | None", None)
    updated_by = cast("str | None", None)

    def mark_created(self, at: dt.datetime, *, by: str | None = None) -> None:
        """Note when it was made, and by whom; and that this is its last change.

        Args:
            at: The present instant, from the application's clock.
            by: Who, as text.

        Raises:
            ValueError: It is no instant with a time zone; nothing was noted.
        """
        self.mark_modified(at, by=by)
        self.created_at = at
        self.created_by = by

    def mark_modified(self, at: dt.datetime, *, by: str | None = None) -> None:
        """Note when it was last changed, and by whom.

        Args:
            at: The present instant, from the application's clock.
            by: Who, as text.

        Raises:
            ValueError: It is no instant with a time zone; nothing was noted.
        """
        self.updated_at = _aware(at)
        self.updated_by = by

    def mark_deleted(self) -> None:
        """Note that it counts as deleted; whoever asks for it has to leave it out."""
        self.is_deleted = True

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, Entity):
            return NotImplemented
        return self.id is not None and bool(self.id == other.id)

    def __hash__(self) -> int:
        """Hash by class and id; by object while the id is not set: put it into sets later."""
        return object.__hash__(self) if self.id is None else hash((type(self), self.id))


def _aware(at: object) -> dt.datetime:
    if not isinstance(at, dt.datetime) or at.utcoffset() is None:
        raise ValueError(f"at = {at!r}: give a datetime with a time zone")
    return at
