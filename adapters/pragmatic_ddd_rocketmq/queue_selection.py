"""Which queue of a topic a sharding key belongs to: the same one that a 5.x proxy chooses.

A proxy takes the jump consistent hash of the key's Java hash code. Any other choice would send
an aggregate to another queue than a producer behind a proxy does, and its events would overtake
each other while both send.

John Lamping and Eric Veach: A Fast, Minimal Memory, Consistent Hash Algorithm. 2014.
https://arxiv.org/abs/1406.2294
"""

import struct

_MULTIPLIER = 2862933555777941757
_64_BITS = (1 << 64) - 1


def java_hash_code(text: str) -> int:
    """Return ``String.hashCode()`` of Java: over UTF-16 code units, as a signed 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for unit in struct.unpack(f">{len(units) // 2}H", units):
        code = (31 * code + unit) & 0xFFFFFFFF
    return code - (1 << 32) if code >> 31 else code


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
