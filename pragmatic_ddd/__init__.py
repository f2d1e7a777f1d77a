"""Domain-driven design with a transactional outbox: an aggregate and its events, or neither."""

from pragmatic_ddd.domain import AggregateRoot, DomainEvent, Entity
from pragmatic_ddd.errors import DomainError, PragmaticError
from pragmatic_ddd.ports import IEventManager, IEventSerializer, IOutboxStore, IUnitOfWork

__all__ = [
    "AggregateRoot",
    "DomainError",
    "DomainEvent",
    "Entity",
    "IEventManager",
    "IEventSerializer",
    "IOutboxStore",
    "IUnitOfWork",
    "PragmaticError",
]
