"""Events as JSON, by orjson and cattrs: exact, checked, and driven by annotations."""

from typing import Any

import attrs
import orjson
from cattrs import BaseValidationError

from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import EventDeserializationError, EventSerializationError
from pragmatic_ddd_orjson.classes import fields_of
from pragmatic_ddd_orjson.event_types import EventTypeRegistry
from pragmatic_ddd_orjson.hooks import UnfitError
from pragmatic_ddd_orjson.paths import first_failure, first_refusal


@attrs.frozen
class OrjsonEventSerializer:
    """Writes what comes back equal and of the same type, and refuses the rest by its field.

    The payload is one JSON object, its members in the order of the event's fields. A reader
    passes over members that it does not know; fields with a default may be missing.

    Attributes:
        registry: The classes that can be read. Writing needs no registration.
    """

    registry: EventTypeRegistry

    def __attrs_post_init__(self) -> None:
        self.registry.check_upcasters()

    def serialize(self, event: DomainEvent) -> bytes:
        written: object = None
        try:
            written = self.registry.codecs.hooks(type(event)).write(event)
            return orjson.dumps(written)
        except UnfitError as error:
            raise EventSerializationError(
                event.event_type, error.path.removeprefix("."), error.reason
            ) from error
        except (orjson.JSONEncodeError, RecursionError) as error:
            path, reason = first_refusal(written) or (self._deep_field(event), str(error))
            raise EventSerializationError(event.event_type, path, reason) from error

    def deserialize(self, payload: bytes, *, event_type: str, event_version: int) -> DomainEvent:
        cls = self.registry.find(event_type, event_version)
        try:
            raw = _object(payload)
            if event_version != cls.event_version:
                raw = self._brought_up(raw, cls, event_version)
            event: DomainEvent = self.registry.codecs.hooks(cls).read(raw, cls)
        except (UnfitError, BaseValidationError, RecursionError) as error:
            path, reason = first_failure(error)
            raise EventDeserializationError(event_type, path, reason) from error
        return event

    def knows(self, event_type: str) -> bool:
        return self.registry.knows(event_type)

    def _deep_field(self, event: DomainEvent) -> str:
        """Return the field that is nested too deeply to be written."""
        for field in fields_of(type(event)):
            try:
                orjson.dumps(
                    [self.registry.codecs.hooks(field.type).write(vars(event)[field.name])]
                )
            except (orjson.JSONEncodeError, RecursionError):
                return str(field.name)
        return ""

    def _brought_up(
        self, raw: dict[str, Any], cls: type[DomainEvent], version: int
    ) -> dict[str, Any]:
        try:
            steps = self.registry.upcasters(cls, version)
        except KeyError as error:
            raise UnfitError(f"there is no upcaster from version {version}") from error
        for older, step in enumerate(steps, version):
            try:
                raw = step(raw)
            except Exception as error:
                raise UnfitError(f"upcaster from version {older} failed: {error!r}") from error
            if not isinstance(raw, dict):
                raise UnfitError(f"upcaster from version {older} returned {type(raw).__name__}")
        return raw


def _object(payload: bytes) -> dict[str, Any]:
    try:
        raw = orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        raise UnfitError(f"no JSON: {error}") from error
    if not isinstance(raw, dict):
        raise UnfitError(f"no JSON object, but {type(raw).__name__}")
    return raw
