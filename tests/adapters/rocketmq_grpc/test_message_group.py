"""Message groups: short enough for a proxy, one for each aggregate, of the same Java hash code."""

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pragmatic_ddd_rocketmq_grpc.message_group import LONGEST_BYTES, message_group

_LONG = [
    "x" * 64,
    "x" * 65,
    "tenant-7/" + "0" * 500,
    "ü" * 32,
    "订单" * 40,
    "\N{GRINNING FACE}" * 20,
    "a" * 10_000,
]


def java_hash_code(text: str) -> int:
    """As ``String.hashCode`` is defined: s[0]*31^(n-1) + s[1]*31^(n-2) + ... + s[n-1]."""
    encoded = text.encode("utf-16-be")
    units = [int.from_bytes(encoded[at : at + 2]) for at in range(0, len(encoded), 2)]
    return functools.reduce(lambda code, unit: (31 * code + unit) % 2**32, units, 0)


@pytest.mark.parametrize("aggregate_id", ["order-1", "Kunde Ö", "x" * 63, "ü" * 31, "a b"])
def test_a_short_id_is_its_own_group(aggregate_id: str) -> None:
    assert message_group(aggregate_id) == aggregate_id


@pytest.mark.parametrize("aggregate_id", _LONG)
def test_a_long_id_has_a_shorter_name_of_the_same_hash_code(aggregate_id: str) -> None:
    group = message_group(aggregate_id)

    assert len(group.encode()) <= LONGEST_BYTES
    assert group.isascii()
    assert group.isprintable()
    assert " " not in group
    assert java_hash_code(group) == java_hash_code(aggregate_id)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=22, max_size=200))
def test_any_long_id_keeps_its_hash_code(aggregate_id: str) -> None:
    group = message_group(aggregate_id)

    assert len(group.encode()) <= LONGEST_BYTES
    assert java_hash_code(group) == java_hash_code(aggregate_id)


def test_the_name_is_the_same_each_time_and_in_each_process() -> None:
    assert message_group("x" * 64) == "fOEAlx9k5wAej-WlGXPs3-HO1Cvv5-6NX9YhlQa1OTwAHIKF[S"


def test_long_ids_that_differ_have_groups_that_differ() -> None:
    ids = [f"{'x' * 70}{number}" for number in range(2000)]
    # The same Java hash code: "Aa" and "BB" have one.
    ids += ["Aa" * 40, "BB" * 40, "AaBB" * 20]

    assert len({message_group(each) for each in ids}) == len(ids)


@pytest.mark.parametrize("aggregate_id", [" ", "   ", "\u3000"])
def test_a_blank_id_has_a_group_that_is_not_blank(aggregate_id: str) -> None:
    group = message_group(aggregate_id)

    assert group.strip() == group
    assert java_hash_code(group) == java_hash_code(aggregate_id)
