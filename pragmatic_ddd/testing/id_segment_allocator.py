"""Contract of ``IIdSegmentAllocator``: subclass it, provide a fixture, run pytest.

    class TestMine(IdSegmentAllocatorContract):
        @pytest.fixture
        def allocator(self) -> IIdSegmentAllocator: ...

The sequences of the allocator are ``SEQUENCE``, which begins at 1, ``OTHER_SEQUENCE``, which
begins at 500, and ``NEARLY_ENDED``, which has the two ids ``LARGEST_ID - 1`` and ``LARGEST_ID``.
"""

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor

import pytest

from pragmatic_ddd.errors import (
    IdAllocationError,
    IdSequenceExhaustedError,
    UnknownIdSequenceError,
)
from pragmatic_ddd.ports.identifiers import LARGEST_ID, IdSegment, IIdSegmentAllocator

SEQUENCE = "test.sequence"
OTHER_SEQUENCE = "test.other sequence"
NEARLY_ENDED = "test.nearly ended"
FIRST_IDS = {SEQUENCE: 1, OTHER_SEQUENCE: 500, NEARLY_ENDED: LARGEST_ID - 1}


class IdSegmentAllocatorContract:
    """What every allocator promises: no id twice, none left out, and clear refusals."""

    @pytest.fixture
    @abstractmethod
    def allocator(self) -> IIdSegmentAllocator:
        """Return an allocator of new sequences, ``FIRST_IDS``."""

    def test_a_sequence_begins_where_it_was_told_to(self, allocator: IIdSegmentAllocator) -> None:
        assert allocator.allocate(SEQUENCE, size=10) == IdSegment(SEQUENCE, 1, 10)
        assert allocator.allocate(OTHER_SEQUENCE, size=1) == IdSegment(OTHER_SEQUENCE, 500, 500)

    def test_segments_follow_each_other_whatever_their_sizes(
        self, allocator: IIdSegmentAllocator
    ) -> None:
        sizes = [1, 7, 1000, 2, 10**12, 1]

        segments = [allocator.allocate(SEQUENCE, size=size) for size in sizes]

        assert [each.size for each in segments] == sizes
        assert _flaws(segments, first=1) == []

    def test_sequences_do_not_know_each_other(self, allocator: IIdSegmentAllocator) -> None:
        allocator.allocate(SEQUENCE, size=100)

        assert allocator.allocate(OTHER_SEQUENCE, size=1).first == 500

    def test_threads_get_segments_that_neither_meet_nor_leave_anything_out(
        self, allocator: IIdSegmentAllocator
    ) -> None:
        def allocate_some(number: int) -> list[IdSegment]:
            return [allocator.allocate(SEQUENCE, size=number + 1) for _ in range(5)]

        with ThreadPoolExecutor(8) as pool:
            segments = [each for some in pool.map(allocate_some, range(8)) for each in some]

        assert len(segments) == 40
        assert _flaws(segments, first=1) == []

    def test_an_unknown_sequence_is_named(self, allocator: IIdSegmentAllocator) -> None:
        with pytest.raises(UnknownIdSequenceError, match=r"'test\.sequense'") as refusal:
            allocator.allocate("test.sequense", size=1)

        assert not refusal.value.retryable

    @pytest.mark.parametrize("name", [SEQUENCE.upper(), f"{SEQUENCE} ", f" {SEQUENCE}"])
    def test_a_name_is_taken_literally(self, allocator: IIdSegmentAllocator, name: str) -> None:
        with pytest.raises(UnknownIdSequenceError):
            allocator.allocate(name, size=1)

    @pytest.mark.parametrize("size", [0, -1])
    def test_a_size_below_one_is_refused(self, allocator: IIdSegmentAllocator, size: int) -> None:
        with pytest.raises(ValueError, match=f"size = {size}: at least 1"):
            allocator.allocate(SEQUENCE, size=size)

        assert allocator.allocate(SEQUENCE, size=1).first == 1

    @pytest.mark.parametrize("size", [1.0, "10", None, True])
    def test_a_size_that_is_no_whole_number_is_refused(
        self, allocator: IIdSegmentAllocator, size: object
    ) -> None:
        with pytest.raises(TypeError, match="size = "):
            allocator.allocate(SEQUENCE, size=size)  # type: ignore[arg-type]  # the point

    @pytest.mark.parametrize("name", ["", "  "])
    def test_a_blank_name_is_refused(self, allocator: IIdSegmentAllocator, name: str) -> None:
        with pytest.raises(ValueError, match="sequence = "):
            allocator.allocate(name, size=1)

    def test_a_sequence_has_an_end(self, allocator: IIdSegmentAllocator) -> None:
        with pytest.raises(IdSequenceExhaustedError, match=NEARLY_ENDED) as refusal:
            allocator.allocate(NEARLY_ENDED, size=3)
        last_two = allocator.allocate(NEARLY_ENDED, size=2)
        with pytest.raises(IdAllocationError):
            allocator.allocate(NEARLY_ENDED, size=1)

        assert not refusal.value.retryable
        assert (last_two.first, last_two.last) == (LARGEST_ID - 1, LARGEST_ID)

    def test_nobody_waits_for_a_caller_who_has_nothing_open(
        self, allocator: IIdSegmentAllocator
    ) -> None:
        assert allocator.would_wait_for_caller() is False


def _flaws(segments: list[IdSegment], *, first: int) -> list[str]:
    """Return where segments meet, or leave something out."""
    expected, flaws = first, []
    for segment in sorted(segments, key=lambda each: each.first):
        if segment.first != expected:
            flaws.append(f"{expected} was to come, and not {segment}")
        expected = segment.last + 1
    return flaws
