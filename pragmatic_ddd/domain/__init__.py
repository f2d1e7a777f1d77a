"""The tactical patterns: entities, aggregates, value objects, events, rules, operations."""

from pragmatic_ddd.domain.aggregate import AggregateRoot
from pragmatic_ddd.domain.broken_rules import BrokenRule, BrokenRuleRegistry
from pragmatic_ddd.domain.domain_service import (
    IDependency,
    IDomainService,
    domain_service,
    external_dependency,
    intents_in,
)
from pragmatic_ddd.domain.entity import Entity
from pragmatic_ddd.domain.entity_rule import EntityRule
from pragmatic_ddd.domain.enum_value import IEnumValue
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.domain.identifiers import uuid7, uuid7_text
from pragmatic_ddd.domain.message_codes import MessageCode
from pragmatic_ddd.domain.operations import (
    EntityOperation,
    OperationRegistry,
    TriggeredOperations,
)
from pragmatic_ddd.domain.rules import (
    IActiveRuleCondition,
    IChangeRule,
    ICheckRule,
    IRuleValidator,
    RuleCheckResult,
    RuleItem,
    RulePosition,
)
from pragmatic_ddd.domain.tracked_dict import TrackedDict
from pragmatic_ddd.domain.tracked_list import TrackedList
from pragmatic_ddd.domain.tracking import Changes, ITrackable
from pragmatic_ddd.domain.triggered_events import TriggeredEvents
from pragmatic_ddd.domain.value_object import IValueObject

__all__ = [
    "AggregateRoot",
    "BrokenRule",
    "BrokenRuleRegistry",
    "Changes",
    "DomainEvent",
    "Entity",
    "EntityOperation",
    "EntityRule",
    "IActiveRuleCondition",
    "IChangeRule",
    "ICheckRule",
    "IDependency",
    "IDomainService",
    "IEnumValue",
    "IRuleValidator",
    "ITrackable",
    "IValueObject",
    "MessageCode",
    "OperationRegistry",
    "RuleCheckResult",
    "RuleItem",
    "RulePosition",
    "TrackedDict",
    "TrackedList",
    "TriggeredEvents",
    "TriggeredOperations",
    "domain_service",
    "external_dependency",
    "intents_in",
    "uuid7",
    "uuid7_text",
]
