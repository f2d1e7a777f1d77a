"""Port: where settings come from."""

from abc import abstractmethod
from typing import Protocol


class IConfigurationSource(Protocol):
    """Answers for keys such as ``outbox.poll-interval``. Safe to call from any thread.

    Two more methods are used where a source has them. ``keys()`` returns every key, so that a
    misspelt one can be named. ``origin(key)`` says in a message where a setting stands, such as
    ``in shop.toml`` or ``from OUTBOX_POLL_INTERVAL``.

    Implementations must pass ``ConfigurationSourceContract``.
    """

    @abstractmethod
    def get(self, key: str) -> object:
        """Return a setting: text, or a value of its own type where the source has types.

        Args:
            key: Dotted prefix and name in kebab-case.

        Returns:
            ``None`` where it is not set.
        """
