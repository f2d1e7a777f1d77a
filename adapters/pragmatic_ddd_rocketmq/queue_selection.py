"""Which queue of a topic a sharding key belongs to: the same one that a 5.x proxy chooses.

A proxy takes the jump consistent hash of the key's Java hash code. Any other choice would send
an aggregate to another queue than a producer behind a proxy does, and its events would overtake
each other while both send.

John Lamping and Eric Veach: A Fast, Minimal Memory, Consistent Hash Algorithm. 2014.
https://arxiv.org/abs/1406.2294
"""

import functools
import operator
import struct
from collections.abc import Sequence

_MULTIPLIER = 2862933555777941757
_32_BITS = (1 << 32) - 1
_64_BITS = (1 << 64) - 1


def java_hash_code(text: str) -> int:
    """Return ``String.hashCode()`` of Java: over UTF-16 code units, as a signed 32-bit number."""
    units = _code_units(text)
    code: int = sum(map(operator.mul, units, _powers(len(units)))) & _32_BITS
    return code - (1 << 32) if code >> 31 else code


def _code_units(text: str) -> Sequence[int]:
    if text.isascii():
        return text.encode()
    units = text.encode("utf-16-be", "surrogatepass")
    return struct.unpack(f">{len(units) // 2}H", units)


@functools.lru_cache(maxsize=256)
def _powers(count: int) -> tuple[int, ...]:
    """Return the weights of that many code units, the first one's first."""
    return tuple(pow(31, exponent, 1 << 32) for exponent in reversed(range(count)))


def jump_consistent_hash(key: int, buckets: int) -> int:
    """Return the bucket of a key, from 0.

    Args:
        key: Any whole number; its lower 64 bits count.
        buckets: How many there are, at least 1.
    """
    state = key & _64_BITS
    bucket, candidate = 0, 0
    while candidate < buckets:
        bucket = candidate
        state = (state * _MULTIPLIER + 1) & _64_BITS
        candidate = int((bucket + 1) / (((state >> 33) + 1) / (1 << 31)))
    return bucket
