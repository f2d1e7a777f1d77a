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
from pragmatic_ddd.ports.events import (
    Delivery,
    IEventManager,
    IEventPublisher,
    ILifecycle,
    IPipelinedEventPublisher,
    IStoredEventPublisher,
    ISubscriberRegistry,
    Receipt,
    Subscriber,
)
from pragmatic_ddd.ports.feature_toggle import IFeatureToggle, ToggleState
from pragmatic_ddd.ports.identifiers import IdSegment, IIdGenerator, IIdSegmentAllocator
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
from pragmatic_ddd.ports.serialization import IEventSerializer
from pragmatic_ddd.ports.topics import ITopicResolver
from pragmatic_ddd.ports.transactions import ITransactionOperations
from pragmatic_ddd.ports.unit_of_work import IUnitOfWork
from pragmatic_ddd.ports.value_codec import ValueCodec

__all__ = [
    "AggregateMessageEnvelope",
    "Backlog",
    "ClaimedMessage",
    "Delivered",
    "Delivery",
    "DryRunResult",
    "EntityFactory",
    "EntityUpdater",
    "FailedTry",
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
    "IExistsQuery",
    "IFeatureToggle",
    "IIdGenerator",
    "IIdSegmentAllocator",
    "ILifecycle",
    "IListQuery",
    "IOneQuery",
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
