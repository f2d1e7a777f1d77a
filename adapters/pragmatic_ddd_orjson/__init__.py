"""Event serialization with orjson and cattrs."""

from pragmatic_ddd_orjson.converter import TextFormat, ValueCodecs
from pragmatic_ddd_orjson.event_types import EventTypeRegistry, Upcaster
from pragmatic_ddd_orjson.serializer import OrjsonEventSerializer

__all__ = [
    "EventTypeRegistry",
    "OrjsonEventSerializer",
    "TextFormat",
    "Upcaster",
    "ValueCodecs",
]
