"""Configuration of the gRPC event manager: the keys ``rocketmq-grpc.*``."""

import datetime as dt
import re
from typing import Any, Self

import attrs
from attrs import validators

from pragmatic_ddd.application.arguments import check_type, of_type, shown, shown_address
from pragmatic_ddd.application.configuration import bind
from pragmatic_ddd.ports.configuration import IConfigurationSource
from pragmatic_ddd_rocketmq_grpc.credentials import Credentials
from pragmatic_ddd_rocketmq_grpc.dead_letters import SUFFIX
from pragmatic_ddd_rocketmq_grpc.endpoints import Endpoints
from pragmatic_ddd_rocketmq_grpc.outgoing_message import (
    LONGEST_DELAY,
    LONGEST_TOPIC,
    checked_topic,
)

_NOTHING = dt.timedelta()
_MILLISECOND = dt.timedelta(milliseconds=1)
_LONGEST = dt.timedelta(minutes=10)
_SHORTEST_POLL = dt.timedelta(milliseconds=100)
_LONGEST_POLL = dt.timedelta(seconds=20)
_SHORTEST_INVISIBLE = dt.timedelta(seconds=10)
_LONGEST_INVISIBLE = dt.timedelta(hours=12)
_LONGEST_GROUP = LONGEST_TOPIC - len(SUFFIX)
_GROUP = re.compile(r"[a-zA-Z0-9_-]+")
_NAMESPACE = re.compile(r"[a-zA-Z0-9_-]*")
_DELAY_SUFFIX = "-delay"


def _group(_: object, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    if value is None:
        return
    check_type(attribute.name, value, str)
    if len(value) > _LONGEST_GROUP or not _GROUP.fullmatch(value):
        raise ValueError(
            f"{attribute.name} = {shown(value)}: 1 to {_LONGEST_GROUP} letters, digits, '_' or '-'"
        )


def _endpoints(_: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    check_type(attribute.name, value, str)
    try:
        Endpoints.parse(value)
    except ValueError as error:
        raise ValueError(f"{attribute.name} = {shown_address(value)}: {error}") from error


def _namespace(_: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    check_type(attribute.name, value, str)
    if not _NAMESPACE.fullmatch(value):
        raise ValueError(f"{attribute.name} = {shown(value)}: letters, digits, '_' or '-'")


def _topic(_: object, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    if value is None:
        return
    check_type(attribute.name, value, str)
    try:
        checked_topic(value)
    except ValueError as error:
        raise ValueError(f"{attribute.name} = {shown(value)}: {error}") from error


def _text_unshown(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{attribute.name}: give a str")  # what was given may be the secret


@attrs.frozen(kw_only=True)
class RocketMqGrpcConfig:
    """How to reach RocketMQ's gRPC proxy. Keys are ``rocketmq-grpc.endpoints`` and so on.

    Attributes:
        endpoints: ``host:port`` of the proxy, or several IPv4 addresses of one, separated by
            semicolons.
        namespace: What topics and groups are part of; empty for none.
        consumer_group: The processes that share events among them; one for each service. Needed
            where there are subscribers, and made as an orderly group. Dead letters go to the
            topic ``<group>-dead-letter``.
        send_timeout: Longest wait for one confirmation.
        sends_side_by_side: How many events may be under way at once.
        invisible_time: How long an event that was given out is nobody else's; it is extended
            while a handler is at work, and while it waits for another try. After this time
            events of a process that died come again.
        long_poll: How long a request for events waits for some; a proxy makes 5 to 20 s of it. A
            shutdown waits for those under way.
        max_reconsume_times: How often an event is tried again after its first failure, before
            it becomes a dead letter.
        reconsume_backoff_base: Wait before the first of these; doubles with each further one.
        reconsume_backoff_cap: Longest wait between two of them. Until an event is settled it
            blocks its queue: that is what keeps the order.
        consumer_threads: How many events are handled at once, each of another queue.
        delay: How much later subscribers with ``DELAYED`` delivery are called, at most a day;
            zero: they are called like all others.
        delay_topic: Where events wait for that, a topic of type DELAY; ``<group>-delay``, where
            ``None``.
        shutdown_timeout: How long to wait for handlers at work.
        check_at_start: Whether the start fails unless the proxy answers, and has the topics that
            are consumed.
        tls: Whether to speak TLS; the proxy's certificate is checked.
        access_key: Name of the account, where the proxy asks for one.
        secret_key: Its secret.
    """

    endpoints: str = attrs.field(validator=_endpoints)
    namespace: str = attrs.field(default="", validator=_namespace)
    consumer_group: str | None = attrs.field(default=None, validator=_group)
    send_timeout: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=3),
        validator=[of_type(dt.timedelta), validators.ge(_MILLISECOND), validators.le(_LONGEST)],
    )
    sends_side_by_side: int = attrs.field(
        default=64, validator=[of_type(int), validators.ge(1), validators.le(1024)]
    )
    invisible_time: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=30),
        validator=[
            of_type(dt.timedelta),
            validators.ge(_SHORTEST_INVISIBLE),
            validators.le(_LONGEST_INVISIBLE),
        ],
    )
    long_poll: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=5),
        validator=[
            of_type(dt.timedelta),
            validators.ge(_SHORTEST_POLL),
            validators.le(_LONGEST_POLL),
        ],
    )
    max_reconsume_times: int = attrs.field(
        default=16, validator=[of_type(int), validators.ge(0), validators.le(1000)]
    )
    reconsume_backoff_base: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=1),
        validator=[of_type(dt.timedelta), validators.gt(_NOTHING), validators.le(_LONGEST)],
    )
    reconsume_backoff_cap: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=30),
        validator=[of_type(dt.timedelta), validators.gt(_NOTHING), validators.le(_LONGEST)],
    )
    consumer_threads: int = attrs.field(
        default=8, validator=[of_type(int), validators.ge(1), validators.le(256)]
    )
    delay: dt.timedelta = attrs.field(
        default=_NOTHING,
        validator=[of_type(dt.timedelta), validators.ge(_NOTHING), validators.le(LONGEST_DELAY)],
    )
    delay_topic: str | None = attrs.field(default=None, validator=_topic)
    shutdown_timeout: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=10),
        validator=[of_type(dt.timedelta), validators.ge(_NOTHING), validators.le(_LONGEST)],
    )
    check_at_start: bool = False
    tls: bool = False
    access_key: str | None = attrs.field(default=None, validator=_text_unshown)
    secret_key: str | None = attrs.field(default=None, validator=_text_unshown, repr=False)

    def __attrs_post_init__(self) -> None:
        if (self.access_key is None) is not (self.secret_key is None):
            raise ValueError("access_key and secret_key: both, or neither")

    @classmethod
    def bind(cls, source: IConfigurationSource) -> Self:
        """Read the keys ``rocketmq-grpc.*``.

        Raises:
            ConfigurationError: A setting is wrong; names key, value and rule.
        """
        return bind(cls, source, prefix="rocketmq-grpc")

    @property
    def parsed_endpoints(self) -> Endpoints:
        """The addresses in ``endpoints``."""
        return Endpoints.parse(self.endpoints)

    @property
    def credentials(self) -> Credentials | None:
        """The account, if one is set."""
        if self.access_key is None or self.secret_key is None:
            return None
        return Credentials(self.access_key, self.secret_key)

    def delay_topic_of(self, group: str) -> str:
        """Return where delayed events of a group wait."""
        return self.delay_topic or group + _DELAY_SUFFIX
