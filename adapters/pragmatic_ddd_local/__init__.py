"""In-memory and thread-pool adapters, for first steps and tests."""

from pragmatic_ddd_local.in_memory_event_manager import InMemoryEventManager

__all__ = ["InMemoryEventManager"]
