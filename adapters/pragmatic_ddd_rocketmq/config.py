"""Configuration of the RocketMQ event manager: the keys ``rocketmq.*``."""

import datetime as dt
import re
from pathlib import Path
from typing import Any, Self

import attrs
from attrs import validators

from pragmatic_ddd.application.arguments import check_type, of_type, shown, shown_address
from pragmatic_ddd.application.configuration import bind
from pragmatic_ddd.ports.configuration import IConfigurationSource
from pragmatic_ddd_rocketmq.credentials import Credentials
from pragmatic_ddd_rocketmq.dead_letters import SUFFIX
from pragmatic_ddd_rocketmq.name_server import NameServers
from pragmatic_ddd_rocketmq.outgoing_message import HIGHEST_DELAY_LEVEL, LONGEST_TOPIC

_NOTHING = dt.timedelta()
_MILLISECOND = dt.timedelta(milliseconds=1)
_LONGEST = dt.timedelta(minutes=10)
_LONGEST_GROUP = LONGEST_TOPIC - len(SUFFIX)
_GROUP = re.compile(r"[a-zA-Z0-9_-]+")
_DEFAULT_GROUPS = frozenset({"DEFAULT_PRODUCER", "DEFAULT_CONSUMER"})


def _group(_: object, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    if value is None:
        return
    check_type(attribute.name, value, str)
    if len(value) > _LONGEST_GROUP or not _GROUP.fullmatch(value) or value in _DEFAULT_GROUPS:
        raise ValueError(
            f"{attribute.name} = {shown(value)}: 1 to {_LONGEST_GROUP} letters, digits, '_' or "
            f"'-', and not one of {', '.join(sorted(_DEFAULT_GROUPS))}"
        )


def _name_servers(_: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    check_type(attribute.name, value, str)
    try:
        NameServers.parse(value)
    except ValueError as error:
        raise ValueError(f"{attribute.name} = {shown_address(value)}: {error}") from error


def _text_unshown(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{attribute.name}: give a str")  # what was given may be the secret


def _zero(_: object, attribute: "attrs.Attribute[int]", value: int) -> None:
    if value != 0:
        raise ValueError(
            f"{attribute.name} = {shown(value)}: must be 0: the outbox repeats sends, in order "
            f"and with pauses; the client would repeat them at once, on another broker and out "
            f"of order"
        )


@attrs.frozen(kw_only=True)
class RocketMqConfig:
    """How to reach RocketMQ. Keys are ``rocketmq.name-server`` and so on.

    Attributes:
        name_server: ``host:port`` of the name server, or several, separated by semicolons. Names
            are resolved once, at the start: restart the process when addresses change.
        producer_group: The producers that belong together.
        consumer_group: The processes that share events among them; one for each service. Needed
            where there are subscribers. Dead letters go to the topic ``<group>-dead-letter``.
        send_msg_timeout: Longest wait for one confirmation.
        retry_times_when_send_failed: 0 and nothing else: retries are the outbox's.
        max_reconsume_times: How often an event is tried again after its first failure, before
            it becomes a dead letter.
        reconsume_backoff_base: Wait before the first of these; doubles with each further one.
            The client looks every second (after 16 tries every 5 s), not more often.
        reconsume_backoff_cap: Longest wait between two of them. Until an event is settled it
            blocks its queue: that is what keeps the order.
        consumer_threads: How many events are handled at once, each of another queue.
        sends_side_by_side: How many events are worth sending at once. On two cores a relay sends
            3,200 events a second with 8, and 3,500 with 16.
        default_delay_level: The broker's delay level for subscribers with ``DELAYED`` delivery;
            0 for none: they are called like all others.
        shutdown_timeout: How long to wait for handlers at work.
        check_at_start: Whether the start fails unless a name server answers with a broker.
        library: File of librocketmq; else the one that the environment variable
            ``PRAGMATIC_DDD_ROCKETMQ_LIBRARY`` names, else what the system's loader finds.
        log_folder: Where librocketmq writes its log files; its own choice, where ``None``.
        access_key: Name of the account, where the brokers ask for one.
        secret_key: Its secret.
    """

    name_server: str = attrs.field(validator=_name_servers)
    producer_group: str = attrs.field(default="pragmatic-ddd", validator=_group)
    consumer_group: str | None = attrs.field(default=None, validator=_group)
    send_msg_timeout: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=3),
        validator=[of_type(dt.timedelta), validators.ge(_MILLISECOND), validators.le(_LONGEST)],
    )
    retry_times_when_send_failed: int = attrs.field(default=0, validator=[of_type(int), _zero])
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
    sends_side_by_side: int = attrs.field(
        default=16, validator=[of_type(int), validators.ge(1), validators.le(64)]
    )
    default_delay_level: int = attrs.field(
        default=0, validator=[of_type(int), validators.ge(0), validators.le(HIGHEST_DELAY_LEVEL)]
    )
    shutdown_timeout: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=10),
        validator=[of_type(dt.timedelta), validators.ge(_NOTHING), validators.le(_LONGEST)],
    )
    check_at_start: bool = False
    library: str | None = None
    log_folder: str | None = None
    access_key: str | None = attrs.field(default=None, validator=_text_unshown)
    secret_key: str | None = attrs.field(default=None, validator=_text_unshown, repr=False)

    def __attrs_post_init__(self) -> None:
        if (self.access_key is None) is not (self.secret_key is None):
            raise ValueError("access_key and secret_key: both, or neither")

    @classmethod
    def bind(cls, source: IConfigurationSource) -> Self:
        """Read the keys ``rocketmq.*``.

        Raises:
            ConfigurationError: A setting is wrong; names key, value and rule.
        """
        return bind(cls, source, prefix="rocketmq")

    @property
    def name_servers(self) -> NameServers:
        """The addresses in ``name_server``."""
        return NameServers.parse(self.name_server)

    @property
    def credentials(self) -> Credentials | None:
        """The account, if one is set."""
        if self.access_key is None or self.secret_key is None:
            return None
        return Credentials(self.access_key, self.secret_key)

    @property
    def library_path(self) -> Path | None:
        """The file in ``library``."""
        return Path(self.library) if self.library else None

    @property
    def log_folder_path(self) -> Path | None:
        """The folder in ``log_folder``."""
        return Path(self.log_folder) if self.log_folder else None
