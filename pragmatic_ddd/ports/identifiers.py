"""Port: identifiers, and the ranges of them that are reserved in advance.

    sequence "shop.order"   1 ────── 1000 │ 1001 ────── 2000 │ 2001 …
                            process A       process B          still free

A process reserves a whole segment in one short transaction and hands its ids out by itself.
"""

from abc import abstractmethod
from typing import Protocol, TypeVar

import attrs

T_co = TypeVar("T_co", covariant=True)

# What a signed integer of 64 bits holds, and with it a BIGINT.
LARGEST_ID = 2**63 - 1


class IIdGenerator(Protocol[T_co]):
    """Makes identifiers, none of them twice. Safe to call from any thread."""

    @abstractmethod
    def next_id(self) -> T_co:
        """Return an identifier that nobody has got before.

        Raises:
            IdAllocationError: There is none now; nothing was handed out.
        """


@attrs.frozen
class IdSegment:
    """A range of ids that belongs to whoever has reserved it.

    Attributes:
        sequence: Name of the sequence that it is a part of.
        first: Its smallest id, at least 1.
        last: Its largest id, at most ``LARGEST_ID``.

    Raises:
        ValueError: It is empty, or has ids that cannot be.
    """

    sequence: str
    first: int
    last: int

    def __attrs_post_init__(self) -> None:
        if not 1 <= self.first <= self.last <= LARGEST_ID:
            raise ValueError(
                f"segment {self.first} to {self.last}: 1 <= first <= last <= {LARGEST_ID}"
            )

    @property
    def size(self) -> int:
        """How many ids it has."""
        return self.last - self.first + 1


class IIdSegmentAllocator(Protocol):
    """Reserves ranges of ids. Implementations must pass ``IdSegmentAllocatorContract``.

    Safe to call from any thread, and in any number of processes at once.
    """

    @abstractmethod
    def allocate(self, sequence: str, *, size: int) -> IdSegment:
        """Reserve the next ids of a sequence: right after those that were reserved before.

        In a transaction of its own, committed on return, never in one that the caller has open:
        if that were rolled back, others would get the same ids.

        Args:
            sequence: Its name, which must be known.
            size: How many ids, at least 1.

        Returns:
            The segment, of exactly that size. What its owner does not hand out is lost.

        Raises:
            UnknownIdSequenceError: There is no sequence of that name.
            IdSequenceExhaustedError: It has fewer ids left; nothing was reserved.
            IdAllocationError: The database failed, or the calling thread has a transaction open
                that this would wait for. If the connection was lost during the commit, a
                segment may be reserved that nobody has.
            TypeError: The name is no text, or the size no whole number.
            ValueError: The size is below 1.
        """

    @abstractmethod
    def would_wait_for_caller(self) -> bool:
        """Say whether ``allocate`` waits for a transaction that the calling thread has open.

        In whichever thread it is called: then that thread must not wait for it. So it is on
        SQLite inside a unit of work, which holds the one write lock of the file.
        """
