"""The tactical patterns: entities, aggregates, value objects, events."""

from pragmatic_ddd.domain.aggregate import AggregateRoot
from pragmatic_ddd.domain.entity import Entity
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.domain.identifiers import uuid7, uuid7_text
from pragmatic_ddd.domain.tracked_dict import TrackedDict
from pragmatic_ddd.domain.tracked_list import TrackedList
from pragmatic_ddd.domain.tracking import Changes, ITrackable
from pragmatic_ddd.domain.triggered_events import TriggeredEvents
from pragmatic_ddd.domain.value_object import IValueObject

__all__ = [
    "AggregateRoot",
    "Changes",
    "DomainEvent",
    "Entity",
    "ITrackable",
    "IValueObject",
    "TrackedDict",
    "TrackedList",
    "TriggeredEvents",
    "uuid7",
    "uuid7_text",
]
