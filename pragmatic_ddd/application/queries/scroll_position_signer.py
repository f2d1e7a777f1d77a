"""Scroll positions as text, for links and cursors of an API.

    signer = ScrollPositionSigner(secret)
    cursor = signer.text(result.position)      "WzEsIjljMWQ...Il0.q1c5..."
    signer.position(cursor)                    the same position; anything else is refused

The text is a payload in JSON and its HMAC-SHA-256 (RFC 2104), cut to 128 bits, each in URL-safe
base64. It is signed, not encrypted: who has it can read the sort keys of one row.
"""

import base64
import binascii
import datetime as dt
import hashlib
import hmac
import json
from collections.abc import Callable
from decimal import Decimal
from uuid import UUID

import attrs

from pragmatic_ddd.application.arguments import check_type
from pragmatic_ddd.errors import ScrollPositionError
from pragmatic_ddd.ports.scrolling import ScrollPosition, ScrollValue

_FORMAT = 1
_PURPOSE = b"pragmatic_ddd scroll position\0"
_SHORTEST_SECRET = 16
_SIGNATURE_BYTES = 16

# What JSON has no type for, by a name in the payload. A datetime is a date, too: it comes first.
_WRITERS: dict[type, tuple[str, Callable[..., str]]] = {
    Decimal: ("decimal", str),
    dt.datetime: ("datetime", dt.datetime.isoformat),
    dt.date: ("date", dt.date.isoformat),
    UUID: ("uuid", str),
    bytes: ("bytes", bytes.hex),
}
_READERS: dict[str, Callable[[str], ScrollValue]] = {
    "decimal": Decimal,
    "datetime": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "uuid": UUID,
    "bytes": bytes.fromhex,
}


def _long_enough(_: object, attribute: "attrs.Attribute[bytes]", value: object) -> None:
    check_type(attribute.name, value, bytes)
    if isinstance(value, bytes) and len(value) < _SHORTEST_SECRET:
        raise ValueError(
            f"{attribute.name} has {len(value)} bytes: at least {_SHORTEST_SECRET}, such as those "
            "of secrets.token_bytes(32)"
        )


@attrs.frozen
class ScrollPositionSigner:
    """Writes positions as text, and reads only what it has written.

    Attributes:
        secret: At least 16 random bytes, the same in each process that serves the same clients.
            With another one, every text written before is refused, and its client starts anew.

    Raises:
        TypeError: It is not of bytes.
        ValueError: It is too short.
    """

    secret: bytes = attrs.field(validator=_long_enough, repr=False)

    def text(self, position: ScrollPosition) -> str:
        """Return the position as text of letters, digits, ``-``, ``_`` and one dot."""
        check_type("position", position, ScrollPosition)
        values = [_written(value) for value in position.values]
        payload = json.dumps([_FORMAT, position.order, values], separators=(",", ":"))
        return self._signed(payload.encode())

    def position(self, text: str) -> ScrollPosition:
        """Return the position that ``text`` was made from.

        Raises:
            ScrollPositionError: It is no such text, was changed, or is signed with another secret.
            TypeError: It is no text.
        """
        check_type("text", text, str)
        payload = _payload(text)
        if payload is None or not hmac.compare_digest(self._signed(payload), text):
            raise ScrollPositionError(
                "it is no text that this application has signed, or it was changed"
            )
        version, *content = json.loads(payload)
        if version != _FORMAT:
            raise ScrollPositionError(f"it is of format {version}, not {_FORMAT}")
        order, values = content
        return ScrollPosition(order=order, values=tuple(_read(value) for value in values))

    def _signed(self, payload: bytes) -> str:
        digest = hmac.new(self.secret, _PURPOSE + payload, hashlib.sha256).digest()
        return f"{_in_base64(payload)}.{_in_base64(digest[:_SIGNATURE_BYTES])}"


def _payload(text: str) -> bytes | None:
    encoded = text.partition(".")[0]
    if not text.isascii():
        return None
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars="-_", validate=True)
    except (binascii.Error, ValueError):
        return None


def _in_base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _written(value: ScrollValue) -> object:
    for kind, (name, write) in _WRITERS.items():
        if isinstance(value, kind):
            return {name: write(value)}
    return value


def _read(written: object) -> ScrollValue:
    if isinstance(written, dict):
        [(name, text)] = written.items()
        return _READERS[name](text)
    return written  # type: ignore[return-value]  # signed, so it is what was written
