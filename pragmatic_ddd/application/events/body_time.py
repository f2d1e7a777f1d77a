"""When an event occurred, as its JSON says it, without reading all of it."""

import re
from typing import Final

from pragmatic_ddd.application.timestamp import TIMESTAMP

_OCCURRED_AT_KEY: Final = b'"occurred_at"'
_OCCURRED_AT = re.compile(_OCCURRED_AT_KEY + rb'\s*:\s*"(' + TIMESTAMP.encode() + rb')"')
_FURTHEST_OCCURRED_AT_BYTES: Final = 4096
_BRACE: Final = ord("{")


def occurred_at_in(payload: bytes) -> str | None:
    """Return when the event occurred, if its JSON says so before any nested member.

    Reading all of the JSON would take longer than all the rest. With no brace before it but one
    at the very beginning, the key can be that of no nested object.
    """
    start = payload.find(_OCCURRED_AT_KEY, 0, _FURTHEST_OCCURRED_AT_BYTES)
    if start < 0 or payload.find(_BRACE, 1, start) > 0:
        return None
    found = _OCCURRED_AT.match(payload, start)
    return None if found is None else found[1].decode()
