"""A dict that knows what became of it since it was loaded."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from pragmatic_ddd.domain.tracking import Changes, LoadedItem, state_of_item

KeyT = TypeVar("KeyT")
ItemT = TypeVar("ItemT")


class TrackedDict(dict[KeyT, ItemT], Generic[KeyT, ItemT]):
    """A dict for repositories that write differences. Change it in place: it is a real dict.

    An item is known by its key. One that was replaced or changed in place is an update, unless
    it has the same type and values as before.

    Not safe to change from several threads, like any dict.

    Args:
        loaded: What is stored. Of a new aggregate nothing is: start empty, then set items.

    Raises:
        TypeError: An item could be changed in place without being seen: it is of a plain class.
    """

    def __init__(self, loaded: Mapping[KeyT, ItemT] = MappingProxyType({})) -> None:
        super().__init__(loaded)
        self._loaded = self._snapshot()

    @property
    def loaded(self) -> Mapping[KeyT, ItemT]:
        """The items that were loaded: the objects themselves, as they are now."""
        return {key: each.item for key, each in self._loaded.items()}

    def changes(self) -> Changes[KeyT, ItemT]:
        """Return what became of it since it was loaded, by key; takes time for every item.

        Raises:
            TypeError: An item could be changed in place without being seen.
        """
        now = self._snapshot()
        return Changes(
            added={key: each.item for key, each in now.items() if key not in self._loaded},
            updated={
                key: each.item
                for key, each in now.items()
                if key in self._loaded and each.state != self._loaded[key].state
            },
            removed={key: each.item for key, each in self._loaded.items() if key not in self},
        )

    def accept_changes(self) -> None:
        """Take what is there now for loaded: the changes have been written.

        If the transaction that wrote them is rolled back, load the aggregate again.
        """
        self._loaded = self._snapshot()

    def _snapshot(self) -> dict[KeyT, LoadedItem[ItemT]]:
        return {key: LoadedItem(item, key, state_of_item(item)) for key, item in self.items()}
