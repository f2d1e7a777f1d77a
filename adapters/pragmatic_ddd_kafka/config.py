"""Configuration of the Kafka event manager: the keys ``kafka.*``."""

import datetime as dt
import re
from typing import Any, Self

import attrs
from attrs import validators

from pragmatic_ddd.application.arguments import (
    Validator,
    check_type,
    check_words,
    of_type,
    shown,
    shown_address,
)
from pragmatic_ddd.application.configuration import bind
from pragmatic_ddd.ports.configuration import IConfigurationSource
from pragmatic_ddd.ports.durability import Durability
from pragmatic_ddd_kafka.durability import ALL, DURABILITIES
from pragmatic_ddd_kafka.extra_settings import extra_settings
from pragmatic_ddd_kafka.group_topics import dead_letter_topic, delay_topic
from pragmatic_ddd_kafka.security import KafkaSecurity
from pragmatic_ddd_kafka.topic_name import checked_topic

_NOTHING = dt.timedelta()
_SECOND = dt.timedelta(seconds=1)
_MILLISECOND = dt.timedelta(milliseconds=1)
_SHORTEST_SEND = dt.timedelta(milliseconds=100)
_LONGEST = dt.timedelta(minutes=10)
_LONGEST_HANDLING = dt.timedelta(days=1)
_LONGEST_SESSION = dt.timedelta(minutes=5)
_LONGEST_DELAY = dt.timedelta(days=7)
_LARGEST_BODY_BYTES = 100_000_000
_LONGEST_NAME = 249
_SERVERS = re.compile(r"(?:[^\s,:/\[\]]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?")


def _servers(_: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    check_type(attribute.name, value, str)
    for server in value.split(","):
        if not _SERVERS.fullmatch(server.strip()):
            refused = value if "@" in value else server  # a password may have commas
            raise ValueError(
                f"{attribute.name} = {shown_address(refused)}: host:port without a scheme, or "
                f"several with commas"
            )


def _words(_: object, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    if value is None:
        return
    check_type(attribute.name, value, str)
    if not value or not value.isprintable() or len(value) > _LONGEST_NAME:
        raise ValueError(
            f"{attribute.name} = {shown(value)}: 1 to {_LONGEST_NAME} printable characters"
        )


def _group(_: object, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    if value is None:
        return
    check_words(attribute.name, value)
    try:
        checked_topic(dead_letter_topic(value))
    except ValueError as error:
        raise ValueError(
            f"{attribute.name} = {shown(value)} is part of a topic's name: {error}"
        ) from error


def _profile(_: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    check_type(attribute.name, value, str)
    if value not in DURABILITIES:
        raise ValueError(f"{attribute.name} = {shown(value)}: one of {', '.join(DURABILITIES)}")


def _extra(_: object, attribute: "attrs.Attribute[Any]", value: tuple[str, ...]) -> None:
    check_type(attribute.name, value, tuple)
    extra_settings(value)


def _between(least: dt.timedelta, most: dt.timedelta = _LONGEST) -> list[Validator]:
    return [of_type(dt.timedelta), validators.ge(least), validators.le(most)]


def _count(least: int, most: int) -> list[Validator]:
    return [of_type(int), validators.ge(least), validators.le(most)]


@attrs.frozen(kw_only=True)
class KafkaConfig(KafkaSecurity):
    """How to reach Kafka. Keys are ``kafka.bootstrap-servers`` and so on.

    Attributes:
        bootstrap_servers: ``host:port`` of some brokers, separated by commas; they name the rest.
        client_id: Name of this application in the brokers' logs, metrics and quotas.
        durability: What SENT means: ``all`` (``acks=all``, idempotent), or the weaker
            ``leader`` (``acks=1``).
        send_timeout: Longest wait for one confirmation.
        largest_body_bytes: Largest payload. A broker takes messages of 1,048,588 bytes, if nobody
            has set another ``max.message.bytes``; this leaves room for headers.
        sends_side_by_side: How many events are worth sending at once, where they are sent one
            by one.
        consumer_group: The processes that share events among them; one for each service. Needed
            where there are subscribers.
        group_instance_id: Name of this process within its group, for static membership: one that
            is restarted within the session timeout gets its partitions back, and nobody else's
            move. Unique in the group.
        auto_offset_reset: Where a group begins that has no place yet, or whose place is gone:
            ``earliest`` or ``latest``.
        consumer_threads: How many events are handled at once, each of another partition; every
            thread is a member of the group.
        max_attempts: How often an event is tried before it becomes a dead letter.
        retry_backoff_base: Wait before its second try; doubles with each further one.
        retry_backoff_cap: Longest wait between two of them. Until an event is settled it blocks its
            partition: that is what keeps the order.
        delay: For subscribers with ``DELAYED`` delivery; 0 for none: they are called like others.
        session_timeout: How long the group waits for a member that has died.
        max_poll_interval: How long one event may be in hand, before the group takes the
            partitions away; the event then comes again elsewhere.
        shutdown_timeout: How long to wait for handlers at work.
        check_at_start: Whether the start fails unless a broker answers and knows the topics.
        client_settings: Further properties of librdkafka, each as ``name=value``; none on which
            a promise rests.
    """

    bootstrap_servers: str = attrs.field(validator=_servers)
    client_id: str = attrs.field(default="pragmatic-ddd", validator=_words)
    durability: str = attrs.field(default=ALL.name, validator=_profile)
    send_timeout: dt.timedelta = attrs.field(
        default=3 * _SECOND, validator=_between(_SHORTEST_SEND)
    )
    largest_body_bytes: int = attrs.field(
        default=1_000_000, validator=_count(1, _LARGEST_BODY_BYTES)
    )
    sends_side_by_side: int = attrs.field(default=8, validator=_count(1, 64))
    consumer_group: str | None = attrs.field(default=None, validator=_group)
    group_instance_id: str | None = attrs.field(default=None, validator=_words)
    auto_offset_reset: str = attrs.field(
        default="earliest", validator=validators.in_(("earliest", "latest"))
    )
    consumer_threads: int = attrs.field(default=1, validator=_count(1, 256))
    max_attempts: int = attrs.field(default=16, validator=_count(1, 1000))
    retry_backoff_base: dt.timedelta = attrs.field(
        default=_SECOND, validator=_between(_MILLISECOND)
    )
    retry_backoff_cap: dt.timedelta = attrs.field(
        default=30 * _SECOND, validator=_between(_MILLISECOND)
    )
    delay: dt.timedelta = attrs.field(
        default=_NOTHING, validator=_between(_NOTHING, _LONGEST_DELAY)
    )
    session_timeout: dt.timedelta = attrs.field(
        default=45 * _SECOND, validator=_between(_SECOND, _LONGEST_SESSION)
    )
    max_poll_interval: dt.timedelta = attrs.field(
        default=300 * _SECOND, validator=_between(_SECOND, _LONGEST_HANDLING)
    )
    shutdown_timeout: dt.timedelta = attrs.field(default=10 * _SECOND, validator=_between(_NOTHING))
    check_at_start: bool = attrs.field(default=False, validator=of_type(bool))
    client_settings: tuple[str, ...] = attrs.field(default=(), validator=_extra, repr=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.max_poll_interval < self.session_timeout:
            raise ValueError(
                f"max_poll_interval = {self.max_poll_interval}: not below session_timeout, "
                f"which is {self.session_timeout}"
            )

    @classmethod
    def bind(cls, source: IConfigurationSource) -> Self:
        """Read the keys ``kafka.*``.

        Raises:
            ConfigurationError: A setting is wrong; names key, value and rule.
        """
        return bind(cls, source, prefix="kafka")

    @property
    def durability_profile(self) -> Durability:
        """The profile that ``durability`` names."""
        return DURABILITIES[self.durability]

    @property
    def topics_of_the_group(self) -> list[str]:
        """The topics that the group has for itself: dead letters, and delayed copies, if any."""
        if self.consumer_group is None:
            return []
        delayed = [delay_topic(self.consumer_group)] if self.delay > _NOTHING else []
        return [dead_letter_topic(self.consumer_group), *delayed]
