"""Event serialization with orjson."""

from pragmatic_ddd_orjson.event_types import EventTypeRegistry, Upcaster
from pragmatic_ddd_orjson.serializer import OrjsonEventSerializer
from pragmatic_ddd_orjson.value_codecs import TextFormat, ValueCodecs

__all__ = [
    "EventTypeRegistry",
    "OrjsonEventSerializer",
    "TextFormat",
    "Upcaster",
    "ValueCodecs",
]
