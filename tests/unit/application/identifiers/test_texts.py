"""Ids as text."""

import uuid

import pytest

from pragmatic_ddd.application.identifiers import (
    SegmentIdGenerator,
    TextIdGenerator,
    Uuid7IdGenerator,
)
from pragmatic_ddd.errors import IdSequenceExhaustedError
from pragmatic_ddd.ports import IIdGenerator
from tests.unit.application.identifiers.stand_ins import WatchedAllocator


@pytest.fixture
def numbers() -> SegmentIdGenerator:
    return SegmentIdGenerator(allocator=WatchedAllocator(), sequence="test")


def test_a_number_is_written_with_prefix_and_zeros(numbers: SegmentIdGenerator) -> None:
    invoices = TextIdGenerator(numbers=numbers, prefix="INV-", digits=6)

    assert [invoices.next_id() for _ in range(2)] == ["INV-000001", "INV-000002"]


def test_without_digits_a_number_has_as_many_as_it_needs(numbers: SegmentIdGenerator) -> None:
    ids = TextIdGenerator(numbers=numbers)

    texts = [ids.next_id() for _ in range(11)]

    assert texts[0] == "1"
    assert texts[-1] == "11"


def test_a_number_with_too_many_digits_is_refused_before_texts_sort_wrongly(
    numbers: SegmentIdGenerator,
) -> None:
    ids = TextIdGenerator(numbers=numbers, prefix="A", digits=1)
    texts = [ids.next_id() for _ in range(9)]

    with pytest.raises(IdSequenceExhaustedError, match="10 has more than 1 digits"):
        ids.next_id()

    assert texts == sorted(texts)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"digits": -1}, "digits = -1: at least 0"),
        ({"digits": "6"}, "digits = '6': give an int"),
        ({"prefix": 1}, "prefix = 1: give a str"),
        ({"numbers": object()}, "this has no next_id"),
    ],
)
def test_what_it_is_made_of_is_checked(
    numbers: SegmentIdGenerator, given: dict[str, object], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        TextIdGenerator(**{"numbers": numbers, **given})  # type: ignore[arg-type]  # the point


def test_a_uuid_may_stand_where_a_generator_of_text_is_asked_for() -> None:
    ids: IIdGenerator[str] = Uuid7IdGenerator()

    assert uuid.UUID(ids.next_id()).version == 7
    assert ids.next_id() < ids.next_id()
