"""Entity: an object with an identity that outlives its values."""

from typing import Any

from pragmatic_ddd.domain.model import MutableModel


class Entity(MutableModel):
    """Equal to another of exactly its class with the same id; without an id, to itself only.

    Attributes:
        id: The identity: text, UUID or integer; ``None`` until the database has given it.
            A subclass may narrow the type by annotating ``id`` again.
    """

    id: Any  # any type of identity: a subclass narrows it

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, Entity):
            return NotImplemented
        return self.id is not None and bool(self.id == other.id)

    def __hash__(self) -> int:
        """Hash by class and id; by object while the id is not set: put it into sets later."""
        return object.__hash__(self) if self.id is None else hash((type(self), self.id))
