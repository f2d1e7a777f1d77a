"""Local transactions in memory: what is staged becomes visible at the commit, all of it at once."""

import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import Protocol, TypeVar, cast

import attrs

from pragmatic_ddd.errors import UnitOfWorkError

T = TypeVar("T")
StagedT = TypeVar("StagedT", bound="IStaged")


class IStaged(Protocol):
    """What one participant, a store or a repository, has written in one open transaction."""

    @abstractmethod
    def apply(self) -> None:
        """Make it visible to everybody; cannot fail."""

    @abstractmethod
    def undo(self) -> None:
        """Take back what was changed outside of this object; cannot fail."""


@attrs.define(eq=False)
class InMemoryTransaction:
    """One open transaction of one thread.

    Attributes:
        is_doomed: Whether it can only be rolled back.
    """

    is_doomed: bool = attrs.field(default=False, init=False)
    _staged: dict[object, IStaged] = attrs.field(factory=dict, init=False)

    def staged_for(self, participant: object, make: Callable[[], StagedT]) -> StagedT:
        """Return what a participant has staged, made at its first write."""
        if participant not in self._staged:
            self._staged[participant] = make()
        return cast("StagedT", self._staged[participant])  # made by the same participant

    def peek(self, participant: object) -> IStaged | None:
        """Return what a participant has staged, if anything."""
        return self._staged.get(participant)

    def apply(self) -> None:
        """Make everything visible."""
        for staged in self._staged.values():
            staged.apply()

    def undo(self) -> None:
        """Take everything back."""
        for staged in reversed(self._staged.values()):
            staged.undo()


@attrs.define(eq=False)
class InMemoryTransactionOperations:
    """Transactions over the stores and repositories that were made with it.

    Transactions of different threads run side by side. What one has staged nobody else sees
    before its commit.

    Attributes:
        lock: Held by participants while they read or change what everybody sees.
    """

    lock: threading.RLock = attrs.field(factory=threading.RLock, init=False, repr=False)
    _of_thread: threading.local = attrs.field(factory=threading.local, init=False, repr=False)
    _open: list[InMemoryTransaction] = attrs.field(factory=list, init=False)

    @property
    def current(self) -> InMemoryTransaction | None:
        """The transaction that this thread has open."""
        return getattr(self._of_thread, "transaction", None)

    @property
    def is_active(self) -> bool:
        return self.current is not None

    def execute(self, work: Callable[[], T]) -> T:
        current = self.current
        if current is None:
            return self._execute_outermost(work)
        try:
            return work()
        except BaseException:
            current.is_doomed = True
            raise

    def others(self) -> list[InMemoryTransaction]:
        """Return the open transactions of other threads; hold ``lock`` while using them."""
        return [each for each in self._open if each is not self.current]

    def _execute_outermost(self, work: Callable[[], T]) -> T:
        transaction = InMemoryTransaction()
        with self.lock:
            self._open.append(transaction)
        self._of_thread.transaction = transaction
        try:
            result = work()
            self._commit(transaction)
        except BaseException:
            with self.lock:
                transaction.undo()
            raise
        finally:
            self._of_thread.transaction = None
            with self.lock:
                self._open.remove(transaction)
        return result

    def _commit(self, transaction: InMemoryTransaction) -> None:
        if transaction.is_doomed:
            raise UnitOfWorkError(
                "a part of this transaction failed: it can only be rolled back, and was"
            )
        with self.lock:
            transaction.apply()
