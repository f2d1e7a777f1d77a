"""Event types: which class an event's stable name and version stand for in this process.

Names that come from the database or a broker are looked up here and nowhere else; nothing is
imported or executed because a message says so.
"""

from collections.abc import Callable
from typing import Any

import attrs

from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import EventTypeError, UnknownEventTypeError
from pragmatic_ddd_orjson.converter import ValueCodecs
from pragmatic_ddd_orjson.hooks import UnfitError

# Takes the payload of one version, as plain JSON, and returns that of the next one.
Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


@attrs.define(init=False)
class EventTypeRegistry:
    """The event classes that this process can read. Fill it in the composition root.

    Args:
        event_types: Classes to register at once; more may be registered later.

    Attributes:
        codecs: How the values in events are written and read.

    Raises:
        EventTypeError: As for ``register``.
    """

    codecs: ValueCodecs
    _types: dict[str, type[DomainEvent]] = attrs.field(factory=dict, init=False)
    _upcasters: dict[tuple[type[DomainEvent], int], Upcaster] = attrs.field(
        factory=dict, init=False
    )

    def __init__(self, *event_types: type[DomainEvent], codecs: ValueCodecs | None = None) -> None:
        self.__attrs_init__(ValueCodecs() if codecs is None else codecs)
        self.register(*event_types)

    def register(self, *event_types: type[DomainEvent]) -> None:
        """Make classes known by their names and their aliases: all of them, or none.

        Raises:
            EventTypeError: A class has no name, its name or an alias is taken, or a field has
                a type that cannot be written so that it comes back. Nothing was registered.
        """
        added: dict[str, type[DomainEvent]] = {}
        for event_type in event_types:
            self._check(event_type)
            for name in (event_type.event_type, *event_type.event_aliases):
                taken = self._types.get(name) or added.get(name)
                if taken is not None:
                    raise EventTypeError(
                        f"{event_type.__qualname__}: the name {name!r} is {taken.__qualname__}'s"
                    )
                added[name] = event_type
        self._types |= added

    def register_upcaster(
        self, event_type: type[DomainEvent], from_version: int, upcaster: Upcaster
    ) -> None:
        """Register the step from one version of an event's payload to the next.

        A class of version 3 needs the steps from 1 and from 2. A step may raise an error
        for payloads that cannot exist any more.

        Args:
            event_type: The class, registered before.
            from_version: The version that the step takes.
            upcaster: Takes the payload as plain JSON, and returns the next version's.

        Raises:
            EventTypeError: The class is not registered, has no such older version, or the
                step is registered already. Nothing was registered.
        """
        owner = f"{event_type.__qualname__}, from version {from_version}"
        if event_type not in self._types.values():
            raise EventTypeError(f"upcaster of {owner}: register the class first")
        if not 1 <= from_version < event_type.event_version:
            raise EventTypeError(
                f"upcaster of {owner}: the class is version {event_type.event_version}"
            )
        if (event_type, from_version) in self._upcasters:
            raise EventTypeError(f"upcaster of {owner}: there is one already")
        self._upcasters[event_type, from_version] = upcaster

    def check_upcasters(self) -> None:
        """Check that every older version of every class can be read.

        Raises:
            EventTypeError: Steps are missing; names them all.
        """
        missing = [
            f"{event_type.__qualname__} from version {version}"
            for event_type in dict.fromkeys(self._types.values())
            for version in range(1, event_type.event_version)
            if (event_type, version) not in self._upcasters
        ]
        if missing:
            raise EventTypeError(f"missing upcasters: {', '.join(missing)}")

    def knows(self, event_type: str) -> bool:
        """Say whether a name, or a former name, is registered."""
        return event_type in self._types

    def find(self, event_type: str, event_version: int) -> type[DomainEvent]:
        """Return the class for a name, or a former name, if it knows that version.

        Raises:
            UnknownEventTypeError: The name is not registered, or the version is newer.
        """
        found = self._types.get(event_type)
        if found is None or event_version > found.event_version:
            raise UnknownEventTypeError(event_type, event_version)
        return found

    def upcasters(self, event_type: type[DomainEvent], from_version: int) -> list[Upcaster]:
        """Return the steps from a version to the class's own, the oldest first.

        Raises:
            KeyError: A step is missing; the key is its class and version.
        """
        versions = range(from_version, event_type.event_version)
        return [self._upcasters[event_type, version] for version in versions]

    def _check(self, event_type: object) -> None:
        if not isinstance(event_type, type) or not issubclass(event_type, DomainEvent):
            raise EventTypeError(f"{event_type!r} is no class of events")
        if not event_type.event_type:
            raise EventTypeError(f"{event_type.__qualname__} has no name, so it is never raised")
        try:
            self.codecs.hooks(event_type)
        except UnfitError as error:
            raise EventTypeError(
                f"{event_type.__qualname__}, field {error.path[1:] or '(all)'}: {error.reason}"
            ) from error
