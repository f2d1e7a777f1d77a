"""Configuration of the RabbitMQ event manager: the keys ``rabbitmq.*``."""

import datetime as dt
import re
from pathlib import Path
from typing import Any, Final, Self

import attrs
from attrs import validators

from pragmatic_ddd.application.arguments import check_type, of_type, shown
from pragmatic_ddd.application.configuration import bind
from pragmatic_ddd.ports.configuration import IConfigurationSource
from pragmatic_ddd_rabbitmq.broker_address import BrokerAddress, parse_addresses
from pragmatic_ddd_rabbitmq.durability import PROFILES
from pragmatic_ddd_rabbitmq.topology import TopologyMode

_NOTHING: Final = dt.timedelta()
_MILLISECOND: Final = dt.timedelta(milliseconds=1)
_SECOND: Final = dt.timedelta(seconds=1)
_LONGEST: Final = dt.timedelta(minutes=10)
_LONGEST_DELAY: Final = dt.timedelta(days=24)  # RabbitMQ counts milliseconds in 32 bits
_LONGEST_PAUSE: Final = dt.timedelta(minutes=2)
_LONGEST_HOLD: Final = dt.timedelta(minutes=25)  # RabbitMQ: 30 minutes for an acknowledgement
_LARGEST_MESSAGE_BYTES: Final = 512 * 1024 * 1024
_LONGEST_GROUP: Final = 200
_GROUP: Final = re.compile(r"(?!amq\.)[a-zA-Z0-9._:-]+")


def _group(_: object, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    if value is None:
        return
    check_type(attribute.name, value, str)
    if len(value) > _LONGEST_GROUP or not _GROUP.fullmatch(value):
        raise ValueError(
            f"{attribute.name} = {shown(value)}: 1 to {_LONGEST_GROUP} letters, digits, '.', '_', "
            f"':' or '-', and not 'amq.' at the beginning"
        )


def _url(_: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{attribute.name}: give a str")  # what was given may hold the password
    try:
        parse_addresses(value)
    except ValueError as error:
        raise ValueError(f"'{attribute.name}': {error}") from error


def _profile(_: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    check_type(attribute.name, value, str)
    if value not in PROFILES:
        raise ValueError(f"{attribute.name} = {shown(value)}: one of {', '.join(PROFILES)}")


@attrs.frozen(kw_only=True)
class RabbitMqConfig:
    """How to reach RabbitMQ, and how to consume. Keys are ``rabbitmq.url`` and so on.

    Attributes:
        url: ``amqp://user:password@host:port/virtual-host``, or ``amqps`` for TLS; the nodes of
            a cluster are separated by commas. Never shown.
        tls_ca_file: Certificates to trust, for TLS; those of the system, where ``None``.
        tls_certificate_file: Our own certificate, where the broker asks for one.
        tls_key_file: Its key, where it is not in the same file.
        connection_name: What the broker's tools show; number and purpose are added.
        consumer_group: The processes that share events among them; one for each service. Needed
            where there are subscribers. It names their exchange and their queues.
        durability: Kind of the group's queues, which says what ``SENT`` means: ``quorum``, or
            by choice ``classic``, which is weaker.
        topology: Whether exchanges, queues and bindings are declared at the start, or are
            somebody else's affair.
        queues: How many queues the group has. With more than one the consistent-hash exchange
            is needed, and several processes handle events side by side. It cannot change later.
        prefetch: How many events of each queue a process holds at most.
        consumer_threads: How many events are handled at once, each of another aggregate.
        max_attempts: Tries after which an event becomes a dead letter.
        retry_backoff_base: Wait before the second try; doubles with each further one. The
            aggregate waits meanwhile.
        retry_backoff_cap: Longest wait between two tries.
        delay: Wait for subscribers with ``DELAYED`` delivery; zero: they are called like all
            others.
        connect_timeout: How long it may take to connect and log in.
        confirm_timeout: How long the broker may take to confirm.
        heartbeat: Longest silence of a connection, in whole seconds; after twice that long it
            is given up.
        sends_side_by_side: How many calls are worth making at once.
        largest_body_bytes: A larger event is refused for good. What RabbitMQ 4 takes unless it
            is told otherwise.
        shutdown_timeout: How long to wait for handlers at work.
    """

    url: str = attrs.field(validator=_url, repr=False)
    tls_ca_file: Path | None = None
    tls_certificate_file: Path | None = None
    tls_key_file: Path | None = None
    connection_name: str = attrs.field(
        default="pragmatic-ddd",
        validator=[of_type(str), validators.min_len(1), validators.max_len(100)],
    )
    consumer_group: str | None = attrs.field(default=None, validator=_group)
    durability: str = attrs.field(default="quorum", validator=_profile)
    topology: TopologyMode = attrs.field(
        default=TopologyMode.DECLARE, validator=of_type(TopologyMode)
    )
    queues: int = attrs.field(
        default=1, validator=[of_type(int), validators.ge(1), validators.le(256)]
    )
    prefetch: int = attrs.field(
        default=64, validator=[of_type(int), validators.ge(1), validators.le(2000)]
    )
    consumer_threads: int = attrs.field(
        default=8, validator=[of_type(int), validators.ge(1), validators.le(256)]
    )
    max_attempts: int = attrs.field(
        default=16, validator=[of_type(int), validators.ge(1), validators.le(50)]
    )
    retry_backoff_base: dt.timedelta = attrs.field(
        default=_SECOND,
        validator=[of_type(dt.timedelta), validators.gt(_NOTHING), validators.le(_LONGEST)],
    )
    retry_backoff_cap: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=30),
        validator=[of_type(dt.timedelta), validators.gt(_NOTHING), validators.le(_LONGEST_PAUSE)],
    )
    delay: dt.timedelta = attrs.field(
        default=_NOTHING,
        validator=[of_type(dt.timedelta), validators.ge(_NOTHING), validators.le(_LONGEST_DELAY)],
    )
    connect_timeout: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=3),
        validator=[of_type(dt.timedelta), validators.ge(_MILLISECOND), validators.le(_LONGEST)],
    )
    confirm_timeout: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=5),
        validator=[of_type(dt.timedelta), validators.ge(_MILLISECOND), validators.le(_LONGEST)],
    )
    heartbeat: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=10),
        validator=[of_type(dt.timedelta), validators.ge(_SECOND), validators.le(_LONGEST)],
    )
    sends_side_by_side: int = attrs.field(
        default=8, validator=[of_type(int), validators.ge(1), validators.le(64)]
    )
    largest_body_bytes: int = attrs.field(
        default=16 * 1024 * 1024,
        validator=[of_type(int), validators.ge(1), validators.le(_LARGEST_MESSAGE_BYTES)],
    )
    shutdown_timeout: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=10),
        validator=[of_type(dt.timedelta), validators.ge(_NOTHING), validators.le(_LONGEST)],
    )

    def __attrs_post_init__(self) -> None:
        if self.tls_key_file is not None and self.tls_certificate_file is None:
            raise ValueError("tls_key_file: needs a tls_certificate_file")
        hold = self.longest_hold
        if hold > _LONGEST_HOLD:
            raise ValueError(
                f"max_attempts = {self.max_attempts}: its waits add up to {hold}, at most "
                f"{_LONGEST_HOLD}: RabbitMQ closes the channel of who holds a message for 30 "
                f"minutes; lower it, or retry_backoff_cap"
            )

    @classmethod
    def bind(cls, source: IConfigurationSource) -> Self:
        """Read the keys ``rabbitmq.*``.

        Raises:
            ConfigurationError: A setting is wrong; names key, value and rule.
        """
        return bind(cls, source, prefix="rabbitmq")

    @property
    def addresses(self) -> tuple[BrokerAddress, ...]:
        """The addresses in ``url``."""
        return parse_addresses(self.url)

    @property
    def heartbeat_seconds(self) -> int:
        """``heartbeat``, as AMQP says it."""
        return int(self.heartbeat.total_seconds())

    @property
    def longest_hold(self) -> dt.timedelta:
        """How long an event that keeps failing is held, beside the time of its tries."""
        waits = (
            min(self.retry_backoff_base * 2 ** min(number, 30), self.retry_backoff_cap)
            for number in range(self.max_attempts - 1)
        )
        return sum(waits, _NOTHING)
