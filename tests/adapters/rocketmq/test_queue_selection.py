"""The queue of an aggregate, computed as the 5.x proxy computes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pragmatic_ddd_rocketmq.queue_selection import java_hash_code, jump_consistent_hash


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("hello", 99162322),
        ("Größe", 69209585),
        ("订单-😀", -710209155),  # a negative one, with a code unit pair
    ],
)
def test_the_hash_code_is_that_of_java(text: str, code: int) -> None:
    assert java_hash_code(text) == code


@given(st.text())
def test_the_hash_code_is_the_sum_that_java_documents(text: str) -> None:
    units = text.encode("utf-16-be")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) % 2**32

    assert java_hash_code(text) % 2**32 == code


@pytest.mark.parametrize(
    ("key", "buckets", "bucket"),
    # Guava's own test of Hashing.consistentHash names the first three.
    [
        (10863919174838991, 11, 6),
        (2016238256797177309, 11, 3),
        (1673758223894951030, 11, 5),
        (0, 1, 0),
        (-710209155, 1, 0),
    ],
)
def test_the_bucket_is_that_of_jump_consistent_hash(key: int, buckets: int, bucket: int) -> None:
    assert jump_consistent_hash(key, buckets) == bucket


@given(st.integers(-(2**31), 2**31 - 1), st.integers(1, 2000))
def test_a_bucket_is_one_of_the_buckets(key: int, buckets: int) -> None:
    assert 0 <= jump_consistent_hash(key, buckets) < buckets


@given(st.integers(-(2**31), 2**31 - 1), st.integers(1, 500))
def test_one_more_bucket_moves_a_key_there_or_nowhere(key: int, buckets: int) -> None:
    before = jump_consistent_hash(key, buckets)
    assert jump_consistent_hash(key, buckets + 1) in {before, buckets}


@pytest.mark.parametrize("buckets", [0, -1])
def test_no_buckets_give_the_first_one_and_no_endless_loop(buckets: int) -> None:
    assert jump_consistent_hash(7, buckets) == 0
