"""One generator for each sequence."""

import datetime as dt

import pytest

from pragmatic_ddd.application.identifiers import IdGeneratorRegistry
from pragmatic_ddd.errors import UnknownIdSequenceError
from tests.unit.application.identifiers.stand_ins import WatchedAllocator


def test_a_sequence_has_one_generator_for_all() -> None:
    registry = IdGeneratorRegistry(WatchedAllocator(), {"test": 5, "other": 2})

    one, same = registry.generator("test"), registry.generator("test")

    assert one is same
    assert (one.segment_size, registry.generator("other").segment_size) == (5, 2)
    assert [one.next_id(), same.next_id(), registry.generator("other").next_id()] == [1, 2, 500]


def test_an_unknown_sequence_is_named_beside_those_that_there_are() -> None:
    registry = IdGeneratorRegistry(WatchedAllocator(), {"test": 5, "other": 2})

    with pytest.raises(UnknownIdSequenceError) as refusal:
        registry.generator("tset")
    with pytest.raises(UnknownIdSequenceError, match="of this registry are none"):
        IdGeneratorRegistry(WatchedAllocator(), {}).generator("test")

    assert str(refusal.value) == (
        "no id of 'tset': the sequences of this registry are 'other', 'test'"
    )


def test_every_sequence_is_reserved_at_start_up() -> None:
    allocator = WatchedAllocator()
    IdGeneratorRegistry(allocator, {"test": 5, "other": 2}).reserve()

    assert {each.sequence: each.size for each in allocator.segments} == {"test": 5, "other": 2}


def test_a_sequence_that_the_allocator_does_not_know_shows_at_start_up() -> None:
    with pytest.raises(UnknownIdSequenceError, match="tset"):
        IdGeneratorRegistry(WatchedAllocator(), {"tset": 5}).reserve()


def test_patience_is_that_of_the_registry() -> None:
    patience = dt.timedelta(seconds=1)
    registry = IdGeneratorRegistry(WatchedAllocator(), {"test": 5}, patience=patience)

    assert registry.generator("test").patience == patience


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"test": 0}, "segment_size = 0: at least 1"),
        ({"": 5}, "sequence = '': say it"),
        (["test"], "segment_sizes = <list object>: give a Mapping"),
    ],
)
def test_what_it_is_made_of_is_checked(sizes: dict[str, int], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        IdGeneratorRegistry(WatchedAllocator(), sizes)
    with pytest.raises(TypeError, match="give a str"):
        IdGeneratorRegistry(WatchedAllocator(), {}).generator(7)  # type: ignore[arg-type]
