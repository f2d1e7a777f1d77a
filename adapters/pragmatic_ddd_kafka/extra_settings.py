"""Properties of librdkafka that a user adds: all but those on which a promise rests."""

from collections.abc import Iterable
from typing import Final

# Set by the adapter, from other settings of its own or because order and confirmation need them.
_OWN: Final = frozenset(
    {
        "acks",
        "allow.auto.create.topics",
        "auto.offset.reset",
        "batch.num.messages",
        "bootstrap.servers",
        "client.id",
        "delivery.report.only.error",
        "delivery.timeout.ms",
        "enable.auto.commit",
        "enable.auto.offset.store",
        "enable.gapless.guarantee",
        "enable.idempotence",
        "enable.partition.eof",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "heartbeat.interval.ms",
        "linger.ms",
        "logger",
        "max.in.flight",
        "max.in.flight.requests.per.connection",
        "max.poll.interval.ms",
        "message.max.bytes",
        "message.send.max.retries",
        "message.timeout.ms",
        "metadata.broker.list",
        "partitioner",
        "queue.buffering.max.ms",
        "request.required.acks",
        "request.timeout.ms",
        "retries",
        "sasl.mechanism",
        "sasl.mechanisms",
        "sasl.password",
        "sasl.username",
        "security.protocol",
        "session.timeout.ms",
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.key.location",
        "ssl.key.password",
        "topic.metadata.propagation.max.ms",
        "transactional.id",
    }
)


def extra_settings(lines: Iterable[str]) -> dict[str, str]:
    """Return properties by name; of a line that is wrong only the name is shown.

    Args:
        lines: Each ``name=value``.

    Raises:
        ValueError: A line is no such pair, or names a property that is the adapter's own.
        TypeError: One is no text.
    """
    settings: dict[str, str] = {}
    for position, line in enumerate(lines):
        if not isinstance(line, str):
            raise TypeError(f"client_settings[{position}]: give a str such as name=value")
        name, separator, value = line.partition("=")
        name = name.strip()
        if not separator or not name:
            raise ValueError(f"client_settings[{position}]: name=value")
        if name in _OWN or name in settings:
            raise ValueError(
                f"client_settings[{position}]: {name} is set elsewhere, or belongs to this adapter"
            )
        settings[name] = value.strip()
    return settings
