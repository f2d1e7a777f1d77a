"""Sequences in memory, and where they end."""

import os

import pytest

from pragmatic_ddd.errors import IdAllocationError
from pragmatic_ddd_local import InMemorySegmentAllocator
from tests.script import needs_fork


@needs_fork
def test_a_forked_child_is_refused_instead_of_repeating_its_parent() -> None:
    allocator = InMemorySegmentAllocator({"test": 1})
    child = os.fork()
    if child == 0:
        try:
            allocator.allocate("test", size=1)
        except IdAllocationError as error:
            os._exit(7 if "with a fork" in str(error) else 1)
        os._exit(0)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert allocator.allocate("test", size=1).first == 1


@pytest.mark.parametrize(
    ("first_ids", "message"),
    [
        ({"test": 0}, r"first_ids\['test'\] = 0: at least 1"),
        ({"": 1}, "sequence = '': say it"),
        ({"test": "1"}, r"first_ids\['test'\] = '1': give an int"),
        ([], "first_ids = <list object>: give a Mapping"),
    ],
)
def test_what_it_is_made_of_is_checked(first_ids: dict[str, int], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        InMemorySegmentAllocator(first_ids)
