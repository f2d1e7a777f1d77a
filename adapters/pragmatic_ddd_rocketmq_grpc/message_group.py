"""Which message group an aggregate has: its id, or where that is too long a shorter name of it.

A proxy takes groups of at most 63 bytes, and chooses a queue by the group's Java hash code. The
remoting channel has no such limit, and hashes the whole id. So the shorter name of a long id ends
in seven characters that give it the id's hash code: the aggregate keeps its queue, whichever
channel sends its events.

    order-1                         order-1
    a very long id ... of a tenant  <SHA-256 in 43 characters><7 characters that mend the hash>
"""

import base64
import functools
import hashlib
import struct
from typing import Final

LONGEST_BYTES: Final = 63

_32_BITS: Final = (1 << 32) - 1
_BASE: Final = 31  # of Java's hash code, so that each of its digits can be one character
_DIGITS: Final = 7  # 31 ** 7 > 2 ** 32: they reach every hash code
_FIRST: Final = ord("A")  # from here to "_" there are 31 characters, all of them printable
_ALL_FIRST: Final = _FIRST * sum(_BASE**power for power in range(_DIGITS))


def message_group(aggregate_id: str) -> str:
    """Return the group that keeps the events of an aggregate in order.

    Two ids never share a group, as far as SHA-256 tells them apart.

    Args:
        aggregate_id: Any text; what is no Unicode or holds control characters is for the
            message's own checks to refuse.
    """
    is_short = len(aggregate_id.encode(errors="surrogatepass")) <= LONGEST_BYTES
    if is_short and (not aggregate_id or aggregate_id.strip()):
        return aggregate_id
    return _shortened(aggregate_id)


@functools.lru_cache(maxsize=1024)
def _shortened(aggregate_id: str) -> str:
    digest = hashlib.sha256(aggregate_id.encode(errors="surrogatepass")).digest()
    name = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    ahead = _hash_code(name) * _BASE**_DIGITS + _ALL_FIRST
    missing = (_hash_code(aggregate_id) - ahead) & _32_BITS
    return name + _text_of(missing)


def _hash_code(text: str) -> int:
    """Return ``String.hashCode()`` of Java, over UTF-16 code units, as an unsigned number."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for (unit,) in struct.iter_unpack(">H", units):
        code = (code * _BASE + unit) & _32_BITS
    return code


def _text_of(number: int) -> str:
    """Return seven characters whose part in a hash code is that number."""
    digits = []
    for _ in range(_DIGITS):
        number, digit = divmod(number, _BASE)
        digits.append(chr(_FIRST + digit))
    return "".join(reversed(digits))
