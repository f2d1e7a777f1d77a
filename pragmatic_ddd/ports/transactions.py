"""Port: local transactions."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class ITransactionOperations(Protocol):
    """Runs work in one local transaction. Each thread has its own."""

    @property
    @abstractmethod
    def is_active(self) -> bool:
        """Whether this thread has a transaction open, which ``execute`` would join."""

    @abstractmethod
    def execute(self, work: Callable[[], T]) -> T:
        """Run ``work`` in a transaction and return what it returns.

        Joins the transaction that this thread already has open, if any: then the outermost
        ``execute`` commits. Otherwise begins one, and commits it when ``work`` returns.

        Raises:
            Exception: Whatever ``work`` raises, or the commit; everything is rolled back, and
                a joined transaction can only be rolled back from then on.
        """
