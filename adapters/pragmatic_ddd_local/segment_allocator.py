"""Sequences of ids in memory."""

import os
import threading
from collections.abc import Mapping

import attrs

from pragmatic_ddd.application.arguments import check_count, check_words, of_type
from pragmatic_ddd.errors import (
    IdAllocationError,
    IdSequenceExhaustedError,
    UnknownIdSequenceError,
)
from pragmatic_ddd.ports.identifiers import LARGEST_ID, IdSegment


@attrs.define(eq=False)
class InMemorySegmentAllocator:
    """Reserves segments for the threads of one process.

    A forked child is refused: it would have the numbers of its parent once more.

    Attributes:
        first_ids: The sequences, each with the id that it begins with.
    """

    first_ids: Mapping[str, int] = attrs.field(validator=of_type(Mapping))
    _next_ids: dict[str, int] = attrs.field(init=False, repr=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)
    _process: int = attrs.field(factory=os.getpid, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        for sequence, first in self.first_ids.items():
            check_words("sequence", sequence)
            check_count(f"first_ids[{sequence!r}]", first)
        self._next_ids = dict(self.first_ids)

    def allocate(self, sequence: str, *, size: int) -> IdSegment:
        check_words("sequence", sequence)
        check_count("size", size)
        if os.getpid() != self._process:
            raise IdAllocationError(
                sequence, "sequences in memory end with a fork: keep them in a database"
            )
        with self._lock:
            first = self._next_ids.get(sequence)
            if first is None:
                raise UnknownIdSequenceError(sequence, f"there is only {list(self._next_ids)}")
            if size > LARGEST_ID - first + 1:
                raise IdSequenceExhaustedError(sequence, f"{first} + {size} > {LARGEST_ID}")
            self._next_ids[sequence] = first + size
        return IdSegment(sequence, first, first + size - 1)

    def would_wait_for_caller(self) -> bool:
        return False
