"""Configuration of the Redis event manager: the keys ``redis.*``."""

import datetime as dt
import re
from typing import Any, Final, Self
from urllib.parse import SplitResult, unquote, urlsplit

import attrs
from attrs import validators

from pragmatic_ddd.application.arguments import Validator, check_type, of_type, shown
from pragmatic_ddd.application.configuration import bind
from pragmatic_ddd.ports.configuration import IConfigurationSource
from pragmatic_ddd_redis.durability import APPEND_ONLY, PROFILES, Confirmation

OLDEST: Final = "oldest"
NEWEST: Final = "newest"

_NOTHING = dt.timedelta()
_MILLISECOND = dt.timedelta(milliseconds=1)
_LONGEST = dt.timedelta(minutes=10)
_SHORTEST_LEASE = dt.timedelta(seconds=1)
_SHORTEST_TIMEOUT = dt.timedelta(milliseconds=10)
_GROUP = re.compile(r"[a-zA-Z0-9._-]{1,200}")
_TLS = "rediss"
_UNIX = "unix"
_PORT = 6379
_SCHEMES = ("redis", _TLS, _UNIX)
_DATABASE = re.compile(r"/?|/\d{1,5}")
_URL_RULE = (
    "redis://host:port/database, rediss://… for TLS, or unix:///path of a socket; without "
    "options behind a question mark"
)
# The greeting is bounded, but not what is under way when its time is over; nor a TLS handshake.
_TIMEOUTS_PER_CALL = 3
_TIMEOUTS_PER_TLS_CALL = 5


def _url(_: object, attribute: "attrs.Attribute[str]", value: object) -> None:
    if not isinstance(value, str) or not _is_url(value):
        raise ValueError(f"'{attribute.name}': {_URL_RULE}")  # what was given may hold a password


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    if parts.scheme not in _SCHEMES or parts.query or parts.fragment:
        return False
    if parts.scheme == _UNIX:
        return parts.path not in {"", "/"}
    return bool(parts.hostname) and port != 0 and _DATABASE.fullmatch(parts.path) is not None


def _group(_: object, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    if value is None:
        return
    check_type(attribute.name, value, str)
    if not _GROUP.fullmatch(value):
        raise ValueError(
            f"{attribute.name} = {shown(value)}: 1 to 200 letters, digits, '.', '_' or '-'"
        )


def _text_unshown(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{attribute.name}: give a str")  # what was given may be the secret


def _between(kind: type, least: Any, most: Any) -> list[Validator]:  # noqa: ANN401
    return [of_type(kind), validators.ge(least), validators.le(most)]


@attrs.frozen(kw_only=True)
class RedisConfig:
    """How to reach Redis. Keys are ``redis.url`` and so on.

    Attributes:
        url: ``redis://host:port/database``, ``rediss://…`` for TLS, ``unix:///path``. User and
            password may stand in it; it is never shown.
        username: The account, where it is not in the URL.
        password: Its secret; never shown.
        tls_ca_file: Certificates to trust, with TLS; those of the system, where ``None``.
        tls_certificate_file: Own certificate, where the server asks for one.
        tls_key_file: Its key.
        consumer_group: The processes that share events among them; one for each service. Needed
            where there are subscribers. Dead letters go to the stream ``<group>-dead-letter``.
        new_group_starts_at: ``oldest``: a group that is new gets all that its streams hold;
            ``newest``: what is added after it was made.
        partitions: How many streams each topic has. So many members of a group can work at
            once. All publishers and consumers of a topic have the same number.
        send_timeout: Longest wait for the answers to what is sent.
        durability: What a receipt is worth: ``memory``, ``append-only`` or ``synced``.
        replicas: How many replicas must have an event, too, before there is a receipt.
        max_length: About how many entries a stream keeps: older ones are deleted, **also those
            that a group has not read yet**. ``None``: all.
        largest_body_bytes: A larger event is refused.
        max_attempts: How often an event is tried before it becomes a dead letter.
        retry_backoff_base: Wait after the first failed try; doubles with each further one.
        retry_backoff_cap: Longest wait between two tries. Until an event is settled it blocks
            its stream: that is what keeps the order.
        delay: After which subscribers with ``DELAYED`` delivery are called; zero: like others.
        lease: After which the streams of a member that has died go to others.
        read_count: Most entries that are read at once.
        sends_side_by_side: How many events are worth sending at once, one by one.
        shutdown_timeout: How long to wait for handlers at work.
        check_at_start: Whether the start fails unless the server answers.
    """

    url: str = attrs.field(validator=_url, repr=False)
    username: str | None = attrs.field(
        default=None, validator=validators.optional(validators.instance_of(str))
    )
    password: str | None = attrs.field(default=None, validator=_text_unshown, repr=False)
    tls_ca_file: str | None = None
    tls_certificate_file: str | None = None
    tls_key_file: str | None = None
    consumer_group: str | None = attrs.field(default=None, validator=_group)
    new_group_starts_at: str = attrs.field(
        default=OLDEST, validator=validators.in_((OLDEST, NEWEST))
    )
    partitions: int = attrs.field(default=1, validator=_between(int, 1, 256))
    send_timeout: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=3),
        validator=_between(dt.timedelta, _SHORTEST_TIMEOUT, _LONGEST),
    )
    durability: str = attrs.field(default=APPEND_ONLY, validator=validators.in_(PROFILES))
    replicas: int = attrs.field(default=0, validator=_between(int, 0, 100))
    max_length: int | None = attrs.field(
        default=None, validator=validators.optional([of_type(int), validators.ge(1)])
    )
    largest_body_bytes: int = attrs.field(
        default=4 * 1024 * 1024, validator=_between(int, 1, 512 * 1024 * 1024)
    )
    max_attempts: int = attrs.field(default=16, validator=_between(int, 1, 1000))
    retry_backoff_base: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=1), validator=_between(dt.timedelta, _MILLISECOND, _LONGEST)
    )
    retry_backoff_cap: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=30), validator=_between(dt.timedelta, _MILLISECOND, _LONGEST)
    )
    delay: dt.timedelta = attrs.field(
        default=_NOTHING, validator=_between(dt.timedelta, _NOTHING, dt.timedelta(days=30))
    )
    lease: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=10),
        validator=_between(dt.timedelta, _SHORTEST_LEASE, _LONGEST),
    )
    read_count: int = attrs.field(default=100, validator=_between(int, 1, 10_000))
    sends_side_by_side: int = attrs.field(default=8, validator=_between(int, 1, 64))
    shutdown_timeout: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=10), validator=_between(dt.timedelta, _NOTHING, _LONGEST)
    )
    check_at_start: bool = attrs.field(default=False, validator=of_type(bool))

    def __attrs_post_init__(self) -> None:
        if self.password and self._parts.password:
            raise ValueError("password: in the URL or here, not both")
        if self.username and self._parts.username:
            raise ValueError("username: in the URL or here, not both")
        tls = (self.tls_ca_file, self.tls_certificate_file, self.tls_key_file)
        if self.scheme != _TLS and any(tls):
            raise ValueError("tls_ca_file, tls_certificate_file, tls_key_file: with rediss:// only")
        if (self.tls_certificate_file is None) is not (self.tls_key_file is None):
            raise ValueError("tls_certificate_file and tls_key_file: both, or neither")

    @classmethod
    def bind(cls, source: IConfigurationSource) -> Self:
        """Read the keys ``redis.*``.

        Raises:
            ConfigurationError: A setting is wrong; names key, value and rule.
        """
        return bind(cls, source, prefix="redis")

    @property
    def scheme(self) -> str:
        """Scheme of the URL: ``redis``, ``rediss`` or ``unix``."""
        return self._parts.scheme

    @property
    def address(self) -> str:
        """Where the server is, without user and password: for messages."""
        parts = self._parts
        if parts.scheme == _UNIX:
            return parts.path
        return f"{parts.hostname}:{parts.port or _PORT}{parts.path.rstrip('/')}"

    @property
    def longest_call(self) -> dt.timedelta:
        """Upper bound of one call to the server."""
        timeouts = _TIMEOUTS_PER_TLS_CALL if self.scheme == _TLS else _TIMEOUTS_PER_CALL
        return self.send_timeout * timeouts

    @property
    def confirmation(self) -> Confirmation:
        """What a receipt is worth, and how that is asked for."""
        return Confirmation(
            profile=self.durability, replicas=self.replicas, within=self.send_timeout
        )

    def connection_options(self) -> dict[str, object]:
        """Return where the server is and who asks, as redis-py calls it; holds the password."""
        parts = self._parts
        options: dict[str, object] = {
            "username": self.username or _decoded(parts.username),
            "password": self.password or _decoded(parts.password),
        }
        if parts.scheme == _UNIX:
            return options | {"path": unquote(parts.path)}
        options |= {
            "host": parts.hostname,
            "port": parts.port or _PORT,
            "db": int(parts.path.strip("/") or 0),
        }
        if parts.scheme == _TLS:
            options |= {
                "ssl_cert_reqs": "required",
                "ssl_check_hostname": True,  # before redis-py 6 it does not by itself
                "ssl_ca_certs": self.tls_ca_file,
                "ssl_certfile": self.tls_certificate_file,
                "ssl_keyfile": self.tls_key_file,
            }
        return options

    @property
    def _parts(self) -> SplitResult:
        return urlsplit(self.url)


def _decoded(part: str | None) -> str | None:
    return unquote(part) if part else None
