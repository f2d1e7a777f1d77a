"""Identifiers: numbers and texts from reserved segments, and UUIDs behind the same port."""

from pragmatic_ddd.application.identifiers.registry import IdGeneratorRegistry
from pragmatic_ddd.application.identifiers.segments import SegmentIdGenerator
from pragmatic_ddd.application.identifiers.texts import TextIdGenerator, Uuid7IdGenerator

__all__ = [
    "IdGeneratorRegistry",
    "SegmentIdGenerator",
    "TextIdGenerator",
    "Uuid7IdGenerator",
]
