"""Identifiers that sort by the time at which they were made: UUID version 7."""

import os
import time
import uuid


def uuid7() -> uuid.UUID:
    """Return a new UUID version 7 (RFC 9562, section 5.7; method 3 of section 6.2).

    48 bits of Unix milliseconds, 12 bits of the fraction of that millisecond, 62 random bits.
    The random bits come from the operating system, so a forked process does not repeat them.
    """
    return uuid.UUID(int=_uuid7_number())


def uuid7_text() -> str:
    """Return a new UUID version 7 in its canonical form of 36 characters."""
    digits = f"{_uuid7_number():032x}"  # a UUID object takes three times as long
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _uuid7_number() -> int:
    nanoseconds = time.time_ns()
    milliseconds, rest = divmod(nanoseconds, 1_000_000)
    fraction = (rest << 12) // 1_000_000
    random = int.from_bytes(os.urandom(8), "big") >> 2
    return (
        (milliseconds & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | random
    )
