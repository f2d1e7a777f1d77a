"""Port: which topic an event goes to."""

from abc import abstractmethod
from typing import Protocol


class ITopicResolver(Protocol):
    """Names the topic of an event. Safe to call from any thread; the same answer each time."""

    @abstractmethod
    def resolve(self, event_type: str, *, subscriber: str | None = None) -> str:
        """Return the topic: the subscriber's, else the event's, else the default one.

        Args:
            event_type: Stable name of the event.
            subscriber: Code of the one subscriber that is meant, if one is.

        Raises:
            ConfigurationError: No topic is set for it, and there is no default.
        """
