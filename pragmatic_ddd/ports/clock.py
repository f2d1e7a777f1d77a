"""Port: the application's clock.

It stamps what the domain means. Whatever the outbox waits for is measured by the database's.
"""

import datetime as dt
from abc import abstractmethod
from typing import Protocol


class IClock(Protocol):
    """Tells the time. Safe to call from any thread."""

    @abstractmethod
    def now(self) -> dt.datetime:
        """Return the present instant, aware, in UTC."""
