"""The ports: what the framework asks of databases, brokers and the application."""

from pragmatic_ddd.ports.broadcast import AggregateMessageEnvelope, IBroadcastMessenger
from pragmatic_ddd.ports.clock import IClock
from pragmatic_ddd.ports.commands import (
    EntityFactory,
    EntityUpdater,
    ICommandExecutor,
    IEntityPropertyResolver,
)
from pragmatic_ddd.ports.configuration import IConfigurationSource
from pragmatic_ddd.ports.dry_run import DryRunResult
from pragmatic_ddd.ports.durability import Durability
from pragmatic_ddd.ports.event_place import EventPlace
from pragmatic_ddd.ports.events import (
    IEventManager,
    IEventPublisher,
    ILifecycle,
    IPipelinedEventPublisher,
    IStoredEventPublisher,
    ITopicPublisher,
    Receipt,
)
from pragmatic_ddd.ports.feature_toggle import IFeatureToggle, ToggleState
from pragmatic_ddd.ports.identifiers import IdSegment, IIdGenerator, IIdSegmentAllocator
from pragmatic_ddd.ports.inbox import (
    Arrival,
    EventGap,
    GapDecision,
    Handling,
    IGapPolicy,
    IInbox,
    IInboxCache,
)
from pragmatic_ddd.ports.metrics import IEventMetrics, PublishPath
from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.outbox_message import (
    Backlog,
    ClaimedMessage,
    Delivered,
    FailedTry,
    OutboxEntry,
    OutboxMessage,
    OutboxStatus,
    Reservation,
    StoredMessage,
)
from pragmatic_ddd.ports.outbox_operations import IOutboxOperations
from pragmatic_ddd.ports.paging import PageRequest, PageResult
from pragmatic_ddd.ports.projections import IProjectionMaterializer
from pragmatic_ddd.ports.queries import (
    ICountQuery,
    IExistsQuery,
    IListQuery,
    IOneQuery,
    IPageQuery,
    IScrollQuery,
)
from pragmatic_ddd.ports.reconciliation import (
    IAggregateVersionResolver,
    IReadModelResynchronizer,
    IReadModelVersionResolver,
    IReconcileDedup,
)
from pragmatic_ddd.ports.repositories import IRepository
from pragmatic_ddd.ports.scrolling import ScrollPosition, ScrollResult, ScrollValue
from pragmatic_ddd.ports.serialization import IEventSerializer, IEventTypeCatalogue
from pragmatic_ddd.ports.subscribers import Delivery, ISubscriberRegistry, Subscriber
from pragmatic_ddd.ports.topics import ITopicResolver
from pragmatic_ddd.ports.transactions import ITransactionOperations
from pragmatic_ddd.ports.unit_of_work import IUnitOfWork
from pragmatic_ddd.ports.value_codec import ValueCodec

__all__ = [
    "AggregateMessageEnvelope",
    "Arrival",
    "Backlog",
    "ClaimedMessage",
    "Delivered",
    "Delivery",
    "DryRunResult",
    "Durability",
    "EntityFactory",
    "EntityUpdater",
    "EventGap",
    "EventPlace",
    "FailedTry",
    "GapDecision",
    "Handling",
    "IAggregateVersionResolver",
    "IBroadcastMessenger",
    "IClock",
    "ICommandExecutor",
    "IConfigurationSource",
    "ICountQuery",
    "IEntityPropertyResolver",
    "IEventManager",
    "IEventMetrics",
    "IEventPublisher",
    "IEventSerializer",
    "IEventTypeCatalogue",
    "IExistsQuery",
    "IFeatureToggle",
    "IGapPolicy",
    "IIdGenerator",
    "IIdSegmentAllocator",
    "IInbox",
    "IInboxCache",
    "ILifecycle",
    "IListQuery",
    "IOneQuery",
    "IOutboxOperations",
    "IOutboxStore",
    "IPageQuery",
    "IPipelinedEventPublisher",
    "IProjectionMaterializer",
    "IReadModelResynchronizer",
    "IReadModelVersionResolver",
    "IReconcileDedup",
    "IRepository",
    "IScrollQuery",
    "IStoredEventPublisher",
    "ISubscriberRegistry",
    "ITopicPublisher",
    "ITopicResolver",
    "ITransactionOperations",
    "IUnitOfWork",
    "IdSegment",
    "OutboxEntry",
    "OutboxMessage",
    "OutboxStatus",
    "PageRequest",
    "PageResult",
    "PublishPath",
    "Receipt",
    "Reservation",
    "ScrollPosition",
    "ScrollResult",
    "ScrollValue",
    "StoredMessage",
    "Subscriber",
    "ToggleState",
    "ValueCodec",
]
