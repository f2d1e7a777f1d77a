"""Events over Redis Streams."""

from pragmatic_ddd_redis.config import RedisConfig
from pragmatic_ddd_redis.errors import RedisStartError
from pragmatic_ddd_redis.event_manager import RedisStreamsEventManager
from pragmatic_ddd_redis.inbox_cache import RedisInboxCache
from pragmatic_ddd_redis.streams import checked_topic

__all__ = [
    "RedisConfig",
    "RedisInboxCache",
    "RedisStartError",
    "RedisStreamsEventManager",
    "checked_topic",
]
