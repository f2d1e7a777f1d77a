"""Port: where settings come from."""

from abc import abstractmethod
from typing import Protocol


class IConfigurationSource(Protocol):
    """Answers for keys such as ``outbox.poll-interval``. Safe to call from any thread."""

    @abstractmethod
    def get(self, key: str) -> str | None:
        """Return the text of a setting, or ``None`` where it is not set.

        Args:
            key: Dotted prefix and name in kebab-case.
        """
