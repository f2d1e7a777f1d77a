"""In-memory and thread-pool adapters, for first steps and tests."""

from pragmatic_ddd_local.broadcast_messenger import Broadcast, InMemoryBroadcastMessenger
from pragmatic_ddd_local.config import LocalEventManagerConfig
from pragmatic_ddd_local.counting_metrics import CountingMetrics
from pragmatic_ddd_local.in_memory_event_manager import InMemoryEventManager
from pragmatic_ddd_local.inbox import InMemoryInbox, InMemoryWatermarkInbox
from pragmatic_ddd_local.inbox_cache import InMemoryInboxCache
from pragmatic_ddd_local.outbox_store import InMemoryOutboxStore
from pragmatic_ddd_local.reconcile_dedup import InMemoryReconcileDedup
from pragmatic_ddd_local.repository import InMemoryRepository
from pragmatic_ddd_local.segment_allocator import InMemorySegmentAllocator
from pragmatic_ddd_local.thread_pool_event_manager import ThreadPoolEventManager
from pragmatic_ddd_local.transactions import InMemoryTransactionOperations

__all__ = [
    "Broadcast",
    "CountingMetrics",
    "InMemoryBroadcastMessenger",
    "InMemoryEventManager",
    "InMemoryInbox",
    "InMemoryInboxCache",
    "InMemoryOutboxStore",
    "InMemoryReconcileDedup",
    "InMemoryRepository",
    "InMemorySegmentAllocator",
    "InMemoryTransactionOperations",
    "InMemoryWatermarkInbox",
    "LocalEventManagerConfig",
    "ThreadPoolEventManager",
]
