"""What was handled lately, in Redis, for every process of a service: put in front of an inbox.

    cache = RedisInboxCache.at("redis://127.0.0.1:6379/0", namespace="shipping")
    inbox = CachedInbox(inbox=SqlAlchemyInbox(sessions), cache=cache)

One key for each event and subscriber, which Redis forgets after a time, or sooner where it has to:
then the inbox is asked. Nothing here decides that an event was handled before it is committed.
"""

import contextlib
import datetime as dt
from collections.abc import Iterator
from typing import Self

import attrs
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from pragmatic_ddd.application.arguments import check_type, in_words, of_type
from pragmatic_ddd.errors import InfrastructureError

_MILLISECOND = dt.timedelta(milliseconds=1)
_A_DAY = dt.timedelta(days=1)
_TIMEOUT = dt.timedelta(milliseconds=200)


@attrs.define(eq=False)
class RedisInboxCache:
    """Remembers events that were handled. Safe in any number of threads and processes.

    Attributes:
        client: Has a timeout, and does not repeat what has failed, as one made by ``at``.
        namespace: Stands before each key: one for each database of inboxes. A new one forgets
            everything, as is needed after that database has lost commits.
        keep: For how long an event is remembered.

    Raises:
        TypeError: Something else was given than is asked for.
        ValueError: The namespace is blank, or ``keep`` below a millisecond.
    """

    client: "redis.Redis" = attrs.field(validator=of_type(redis.Redis), repr=False)
    namespace: str = attrs.field(validator=in_words(), kw_only=True)
    keep: dt.timedelta = attrs.field(
        default=_A_DAY, validator=[of_type(dt.timedelta), attrs.validators.ge(_MILLISECOND)]
    )

    @classmethod
    def at(
        cls,
        url: str,
        *,
        namespace: str,
        keep: dt.timedelta = _A_DAY,
        timeout: dt.timedelta = _TIMEOUT,
    ) -> Self:
        """Return one with a client of its own, which waits for nothing longer than ``timeout``.

        Args:
            url: Such as ``redis://host:6379/0``; user and password may stand in it.
            namespace: Stands before each key.
            keep: For how long an event is remembered.
            timeout: Longest wait for a connection, and for an answer.

        Raises:
            TypeError: Something else was given than is asked for.
            ValueError: The URL is none, or as above.
        """
        check_type("timeout", timeout, dt.timedelta)
        seconds = timeout.total_seconds()
        client = redis.Redis.from_url(
            url,
            socket_timeout=seconds,
            socket_connect_timeout=seconds,
            retry=Retry(NoBackoff(), 0),
        )
        return cls(client, namespace=namespace, keep=keep)

    def is_known(self, subscriber: str, message_id: str) -> bool:
        with _translated():
            return bool(self.client.exists(self._key(subscriber, message_id)))

    def note(self, subscriber: str, message_id: str) -> None:
        milliseconds = self.keep // _MILLISECOND
        with _translated():
            self.client.set(self._key(subscriber, message_id), b"", px=milliseconds)

    def close(self) -> None:
        """Disconnect; a later call connects again."""
        self.client.close()

    def _key(self, subscriber: str, message_id: str) -> str:
        # With the length, no two pairs have the same key.
        return f"{self.namespace}:{len(subscriber)}:{subscriber}:{message_id}"


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (redis.RedisError, OSError) as error:
        raise InfrastructureError(f"Redis: {type(error).__name__}: {error}") from error
