"""A list that knows what became of it since it was loaded."""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from pragmatic_ddd.domain.tracking import Changes, ITrackable, LoadedItem, state_of_item

ItemT = TypeVar("ItemT")


class TrackedList(list[ItemT], Generic[ItemT]):
    """A list for repositories that write differences. Change it in place: it is a real list.

    An item is known by its class and id, if it is ``ITrackable`` and the id is given; else by its
    value. A replaced entity with the same id, or one that was changed in place, is an update; a
    replaced value is one removed and one added. Equal items are told apart by their order.

    Not safe to change from several threads, like any list.

    Args:
        loaded: What is stored. Of a new aggregate nothing is: start empty, then append.
        key: By what an item is known instead, such as ``lambda line: line.sku``; hashable.

    Raises:
        TypeError: An item is neither ``ITrackable`` nor hashable, and there is no ``key``; or it
            could be changed in place without being seen: it is of a plain class.
    """

    def __init__(
        self, loaded: Iterable[ItemT] = (), *, key: Callable[[ItemT], Hashable] | None = None
    ) -> None:
        super().__init__(loaded)
        self._key = _known_by if key is None else key
        self._loaded = self._snapshot()

    @property
    def loaded(self) -> tuple[ItemT, ...]:
        """The items that were loaded: the objects themselves, as they are now."""
        return tuple(each.item for each in self._loaded)

    def changes(self) -> Changes[int, ItemT]:
        """Return what became of it since it was loaded, by position; takes time for every item.

        Raises:
            TypeError: As when it was made.
        """
        now = self._snapshot()
        origins = _origins(self._loaded, now)
        kept = set(origins.values())
        return Changes(
            added={place: each.item for place, each in enumerate(now) if place not in origins},
            updated={
                place: now[place].item
                for place, origin in origins.items()
                if now[place].state != self._loaded[origin].state
            },
            removed={
                place: each.item for place, each in enumerate(self._loaded) if place not in kept
            },
            moved={origin: place for place, origin in origins.items() if place != origin},
        )

    def accept_changes(self) -> None:
        """Take what is there now for loaded: the changes have been written.

        If the transaction that wrote them is rolled back, load the aggregate again.
        """
        self._loaded = self._snapshot()

    def _snapshot(self) -> tuple[LoadedItem[ItemT], ...]:
        return tuple(LoadedItem(item, self._key_of(item), state_of_item(item)) for item in self)

    def _key_of(self, item: ItemT) -> Hashable:
        key = self._key(item)
        try:
            hash(key)
        except TypeError:
            raise TypeError(
                f"{type(item).__name__}: an item is known by its id, or by its value if that is "
                f"hashable; else give the list a key, such as key=lambda item: item.number"
            ) from None
        return key


def _known_by(item: object) -> object:
    if isinstance(item, ITrackable) and item.id is not None:
        return type(item), item.id
    return item


def _origins(
    loaded: tuple[LoadedItem[ItemT], ...], now: tuple[LoadedItem[ItemT], ...]
) -> dict[int, int]:
    """Return for each item that was loaded its place then, by its place now.

    What has stayed at its place is found first, so that of equal items as few move as can be.
    """
    origins = {
        place: place
        for place, (then, each) in enumerate(zip(loaded, now, strict=False))
        if then.key == each.key
    }
    waiting: defaultdict[object, deque[int]] = defaultdict(deque)
    for place, then in enumerate(loaded):
        if place not in origins:
            waiting[then.key].append(place)
    for place, each in enumerate(now):
        if place not in origins and waiting[each.key]:
            origins[place] = waiting[each.key].popleft()
    return origins
