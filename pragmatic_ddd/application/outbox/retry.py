"""When a failed send is tried again: exponential backoff with jitter and a cap."""

import datetime as dt
import random

import attrs
from attrs import validators

from pragmatic_ddd.application.arguments import of_type

_LARGEST_DOUBLING = 40  # beyond it every cap is reached; 2**40 s would overflow a timedelta


@attrs.frozen(kw_only=True)
class Backoff:
    """Waits ``base``, then twice as long after each further failure, at most ``cap``.

    "Equal jitter": half of each wait is fixed, half is random, so that what failed together
    does not come back together (Marc Brooker, *Exponential Backoff and Jitter*, AWS, 2015).

    Attributes:
        base: Wait after the first failure, before jitter.
        cap: Longest wait.
    """

    base: dt.timedelta = attrs.field(
        validator=[of_type(dt.timedelta), validators.gt(dt.timedelta())]
    )
    cap: dt.timedelta = attrs.field(
        validator=[of_type(dt.timedelta), validators.gt(dt.timedelta())]
    )

    def delay(self, failures: int) -> dt.timedelta:
        """Return how long to wait after that many failures in a row, from 1; never above the cap.

        Any number is accepted, also one far beyond what arithmetic on durations could hold.
        """
        doublings = min(max(failures - 1, 0), _LARGEST_DOUBLING)
        seconds = min(self.base.total_seconds() * 2.0**doublings, self.cap.total_seconds())
        return dt.timedelta(seconds=seconds * random.uniform(0.5, 1.0))  # noqa: S311  # no secret
