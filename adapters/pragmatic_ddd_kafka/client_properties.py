"""What librdkafka is told: the config, and what order and confirmation rest on.

murmur2_random     the partitioner of the Java client, so that an aggregate keeps its partition
                   whoever writes; librdkafka's own (CRC32) would put it elsewhere
linger 0           a call waits for its confirmations, so that there is nothing to wait for
message timeout    no message stays in the client for longer than its call
batch.num.messages 1 in the producer that is asked again what was refused as part of a batch
cooperative-sticky a rebalance takes only the partitions that move: the others are not stopped,
                   and what is being tried again there keeps its tries
"""

import datetime as dt
from typing import Any, Final

from pragmatic_ddd_kafka.client_log import ClientLog
from pragmatic_ddd_kafka.config import KafkaConfig
from pragmatic_ddd_kafka.durability import ALL
from pragmatic_ddd_kafka.extra_settings import extra_settings

Properties = dict[str, Any]

# The body is checked by the adapter, the whole by the broker: a dead letter may be larger. What a
# topic allows a consumer must be able to receive, or it would stand still there.
_NO_LIMIT_BYTES: Final = 1_000_000_000
_LONGEST_RECONNECT_PAUSE_MS: Final = 1000
_LONGEST_PROPAGATION_MS: Final = 1000
_NEW_TOPICS_MS: Final = 30_000
_HEARTBEAT_MS: Final = 3000


def producer_properties(config: KafkaConfig) -> Properties:
    """Return the properties of the producer."""
    timeout = _milliseconds(config.send_timeout)
    properties = {
        **_common(config),
        "partitioner": "murmur2_random",
        "linger.ms": 0,
        "message.timeout.ms": timeout,
        "request.timeout.ms": timeout,
        "topic.metadata.propagation.max.ms": min(_LONGEST_PROPAGATION_MS, timeout // 2),
        "message.max.bytes": _NO_LIMIT_BYTES,
        "max.in.flight.requests.per.connection": 5,
    }
    if config.durability == ALL.name:
        return properties | {"acks": "all", "enable.idempotence": True}
    return properties | {"acks": 1, "enable.idempotence": False}


def one_by_one(properties: Properties) -> Properties:
    """Return the properties of a producer whose every request has one message."""
    return properties | {"batch.num.messages": 1}


def consumer_properties(config: KafkaConfig, group: str, *, member: int) -> Properties:
    """Return the properties of a consumer.

    Args:
        config: How to reach the brokers.
        group: Its group.
        member: Which one it is in this process, from 1.
    """
    properties = {
        "partition.assignment.strategy": "cooperative-sticky",
        "receive.message.max.bytes": _NO_LIMIT_BYTES,
        **_common(config),
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": config.auto_offset_reset,
        "session.timeout.ms": _milliseconds(config.session_timeout),
        "heartbeat.interval.ms": min(_HEARTBEAT_MS, _milliseconds(config.session_timeout) // 3),
        "max.poll.interval.ms": _milliseconds(config.max_poll_interval),
        "allow.auto.create.topics": False,
    }
    if config.group_instance_id is not None:
        suffix = "" if config.consumer_threads == 1 else f"-{member}"
        properties["group.instance.id"] = config.group_instance_id + suffix
    return properties


def admin_properties(config: KafkaConfig) -> Properties:
    """Return the properties of a client that only asks."""
    return _common(config)


def _common(config: KafkaConfig) -> Properties:
    return {
        "reconnect.backoff.max.ms": _LONGEST_RECONNECT_PAUSE_MS,
        "topic.metadata.refresh.interval.ms": _NEW_TOPICS_MS,
        "log.connection.close": False,
        "socket.keepalive.enable": True,
        "enable.metrics.push": False,
        "statistics.interval.ms": 0,
        **extra_settings(config.client_settings),
        **config.security_properties(),
        "bootstrap.servers": config.bootstrap_servers.replace(" ", ""),
        "client.id": config.client_id,
        "logger": ClientLog(),
    }


def _milliseconds(duration: dt.timedelta) -> int:
    return int(duration.total_seconds() * 1000)
