"""Port: which features are switched on, and for whom."""

import enum
from abc import abstractmethod
from typing import Protocol


class ToggleState(enum.Enum):
    """How far a feature is.

    Attributes:
        OFF: For nobody.
        ROLLOUT: For those whom the rollout includes.
        ON: For everybody.
    """

    OFF = "off"
    ROLLOUT = "rollout"
    ON = "on"


class IFeatureToggle(Protocol):
    """Answers whether a feature is on. Safe to call from any thread.

    Implementations must pass ``FeatureToggleContract``.
    """

    @abstractmethod
    def is_enabled(self, feature: str, *, subject_id: str | None = None) -> bool:
        """Say whether a feature is on for a subject; for one subject the same answer each time.

        Args:
            feature: Its name, such as ``new-pricing``.
            subject_id: Whom it is for: the id of a user, a tenant, an order. Without one, a
                feature that is being rolled out is off.

        Raises:
            ValueError: There is no such feature.
            TypeError: The id is no text.
        """

    @abstractmethod
    def state_of(self, feature: str) -> ToggleState:
        """Return how far a feature is.

        Raises:
            ValueError: There is no such feature.
        """
