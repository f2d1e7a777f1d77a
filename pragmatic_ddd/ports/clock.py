"""Port: the time, so that tests can set it.

The adapters in memory read it, and code of yours may. Events are stamped by the system's clock,
unless ``occurred_at`` is given. An outbox on a database goes by the database's clock.
"""

import datetime as dt
from abc import abstractmethod
from typing import Protocol


class IClock(Protocol):
    """Tells the time. Safe to call from any thread."""

    @abstractmethod
    def now(self) -> dt.datetime:
        """Return the present instant, aware, in UTC."""
