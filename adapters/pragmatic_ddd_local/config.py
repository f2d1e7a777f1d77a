"""How the thread-pool event manager works: the keys ``event.local.*``."""

import datetime as dt
from typing import Self

import attrs
from attrs import validators

from pragmatic_ddd.application.arguments import of_type
from pragmatic_ddd.application.configuration import bind
from pragmatic_ddd.ports import IConfigurationSource

_ZERO = dt.timedelta()


@attrs.frozen(kw_only=True)
class LocalEventManagerConfig:
    """Threads, queue, retries and delays of a ``ThreadPoolEventManager``.

    Attributes:
        workers: Threads that call subscribers, ``event.local.workers``.
        queue_size: Calls that may wait for a worker; beyond that, whoever publishes makes the
            call itself.
        retries: How often a subscriber that failed on a worker is called again.
        retry_delay: Pause before each of these calls.
        delay: When a subscriber with ``DELAYED`` delivery is called, counted from the event.
        longest_call: What the outbox may take as the bound of publishing one stored message:
            of all its root subscribers together. Handlers must keep it; nothing can stop them.
        shutdown_timeout: How long ``shutdown`` waits for what is queued, delayed or under way.
    """

    workers: int = attrs.field(default=4, validator=[of_type(int), validators.ge(1)])
    queue_size: int = attrs.field(default=1000, validator=[of_type(int), validators.ge(1)])
    retries: int = attrs.field(default=3, validator=[of_type(int), validators.ge(0)])
    retry_delay: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=1.5), validator=[of_type(dt.timedelta), validators.ge(_ZERO)]
    )
    delay: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=5), validator=[of_type(dt.timedelta), validators.ge(_ZERO)]
    )
    longest_call: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=10), validator=[of_type(dt.timedelta), validators.gt(_ZERO)]
    )
    shutdown_timeout: dt.timedelta = attrs.field(
        default=dt.timedelta(seconds=10), validator=[of_type(dt.timedelta), validators.ge(_ZERO)]
    )

    @classmethod
    def bind(cls, source: IConfigurationSource) -> Self:
        """Return the configuration from the keys ``event.local.*``.

        Raises:
            ConfigurationError: One or more settings are wrong; every one is named.
        """
        return bind(cls, source, prefix="event.local")
