"""Configuration of the outbox path: writer, eager publisher and relay read the same keys."""

import datetime as dt
from typing import Self

import attrs
from attrs import validators

from pragmatic_ddd.application.arguments import of_type
from pragmatic_ddd.application.configuration import bind
from pragmatic_ddd.application.outbox.retry import Backoff
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd.ports.configuration import IConfigurationSource

_NOTHING = dt.timedelta()
_MARGIN = dt.timedelta(seconds=2)
_LONGEST = dt.timedelta(hours=1)


def _duration(default: dt.timedelta, longest: dt.timedelta = _LONGEST) -> dt.timedelta:
    checks = [
        of_type(dt.timedelta),
        validators.gt(_NOTHING),
        validators.le(longest),
    ]
    field: dt.timedelta = attrs.field(default=default, validator=checks)
    return field


def _count(default: int, most: int) -> int:
    checks = [of_type(int), validators.ge(1), validators.le(most)]
    field: int = attrs.field(default=default, validator=checks)
    return field


@attrs.frozen(kw_only=True)
class OutboxRelayConfig:
    """How eagerly the outbox works. Keys are ``outbox.poll-interval`` and so on.

    Attributes:
        poll_interval: Longest pause between two rounds of the relay. Without a live eager path
            it is the latency: give a relay of its own 1 s.
        grace: How long a row that was born owned stays the eager publisher's. Above the longest
            call of the event manager plus 2 s.
        batch_size: Most messages claimed in one round.
        max_attempts: Counted tries after which a message ends FAILED.
        lease: How long a claimed message stays its claimer's. Above the longest call of the
            event manager plus 2 s.
        send_timeout: Longest wait for one confirmation, where the event manager takes it.
        backoff_base: Wait after the first failure; doubles with each further one.
        backoff_cap: Longest wait between two tries.
        retention: How long SENT and SKIPPED rows are kept.
    """

    poll_interval: dt.timedelta = _duration(dt.timedelta(minutes=5))
    grace: dt.timedelta = _duration(dt.timedelta(seconds=30))
    batch_size: int = _count(200, 10_000)
    max_attempts: int = _count(10, 1000)
    lease: dt.timedelta = _duration(dt.timedelta(seconds=60))
    send_timeout: dt.timedelta = _duration(dt.timedelta(seconds=3))
    backoff_base: dt.timedelta = _duration(dt.timedelta(seconds=1))
    backoff_cap: dt.timedelta = _duration(dt.timedelta(minutes=5))
    retention: dt.timedelta = _duration(dt.timedelta(days=7), dt.timedelta(days=36_500))

    @classmethod
    def default_config(cls) -> Self:
        """Return the defaults."""
        return cls()

    @classmethod
    def bind(cls, source: IConfigurationSource) -> Self:
        """Read the keys ``outbox.*``.

        Raises:
            ConfigurationError: A setting is wrong; names key, value and rule.
        """
        return bind(cls, source, prefix="outbox")

    @property
    def backoff(self) -> Backoff:
        """When a failed send is tried again."""
        return Backoff(base=self.backoff_base, cap=self.backoff_cap)

    def check_against(self, longest_call: dt.timedelta) -> None:
        """Refuse a lease or a grace in which not even one call to the broker fits safely.

        Args:
            longest_call: Upper bound of one call to the event manager.

        Raises:
            ConfigurationError: Names each that is too short, with the numbers.
        """
        least = longest_call + _MARGIN
        problems = [
            f"outbox.{name} = {value}: above {least}, the event manager's longest call of "
            f"{longest_call} plus {_MARGIN}"
            for name, value in (("lease", self.lease), ("grace", self.grace))
            if value <= least
        ]
        if problems:
            raise ConfigurationError(problems)


@attrs.frozen(kw_only=True)
class EagerPoolConfig:
    """Size of the eager publisher. Keys are ``outbox.eager.workers`` and so on.

    Attributes:
        workers: Threads that send side by side, one aggregate each.
        queue_size: Most messages held in memory; what does not fit is left to the relay.
        shutdown_timeout: How long ``shutdown`` lets what is queued go out.
    """

    workers: int = _count(4, 256)
    queue_size: int = attrs.field(default=10_000, validator=[of_type(int), validators.ge(1)])
    shutdown_timeout: dt.timedelta = _duration(dt.timedelta(seconds=10))

    @classmethod
    def bind(cls, source: IConfigurationSource) -> Self:
        """Read the keys ``outbox.eager.*``.

        Raises:
            ConfigurationError: A setting is wrong; names key, value and rule.
        """
        return bind(cls, source, prefix="outbox.eager")
