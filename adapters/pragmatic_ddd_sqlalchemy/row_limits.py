"""What a row holds: the same limits on every database, and what becomes of text beyond them.

What would be cut, rounded, converted or taken for another one by some database is refused by
the same rule on all of them, with its name and before anything is sent. Texts for people only
are shortened instead.
"""

import datetime as dt
import json
import re
import reprlib
from collections.abc import Iterable

from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd_sqlalchemy.errors import RefusedByDatabaseError
from pragmatic_ddd_sqlalchemy.table import LONGEST_KEY, LONGEST_TOKEN

# NUL cannot be stored in PostgreSQL, half of a surrogate pair cannot be encoded anywhere.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# No row has this token, so that it may be compared with any. Not empty: MariaDB may be set to take
# an empty text for NULL, which every row without an owner has.
NOBODY = "nobody"
BITS = {"aggregate_version": 64, "event_index": 32, "event_version": 32}


_PLAIN_NUMBERS = 1 << 31
_LIMITS = {name: 1 << (bits - 1) for name, bits in BITS.items()}


def shortened(text: str, length: int) -> str:
    """Return as much of a text as a column takes, without what no column can hold."""
    text = text[:length]
    if _UNSTORABLE.search(text) is None:
        return text
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def unique(values: Iterable[str]) -> list[str]:
    """Return text without what appears again, and without what no row can hold."""
    return [value for value in dict.fromkeys(values) if _is_keepable(value, len(value))]


def checked_token(claim_token: str) -> str:
    """Return a claim token that every database keeps as it is.

    Raises:
        RefusedByDatabaseError: It would be cut, or is the same as another one.
    """
    if claim_token == NOBODY:
        raise RefusedByDatabaseError(f"claim token {NOBODY!r}: it says that a row has no owner")
    if not _is_keepable(claim_token, LONGEST_TOKEN):
        raise _refused_text("claim token", claim_token, LONGEST_TOKEN)
    return claim_token


def check_within_horizon(duration: dt.timedelta, horizon: dt.timedelta, name: str) -> None:
    """Check that nothing becomes due later than rows are looked for.

    Raises:
        ValueError: It would, and be taken for a row that a clock has stranded.
    """
    if duration > horizon:
        raise ValueError(f"{name} is {duration}, the store's horizon {horizon}: raise the horizon")


def checked_text(name: str, value: str) -> str:
    """Return text that is a key, if no database changes it or takes it for another one.

    Raises:
        RefusedByDatabaseError: One does.
    """
    if _is_keepable(value, LONGEST_KEY):
        return value
    raise _refused_text(name, value, LONGEST_KEY)


def fits_at_a_glance(message: OutboxMessage) -> bool:
    """Say whether its keys and numbers are plain and short; where not, each is to be checked."""
    keys = message.message_id, message.aggregate_type, message.aggregate_id, message.event_type
    text = "".join(keys)
    if not (text.isascii() and len(text) <= LONGEST_KEY and all(keys)):
        return False
    version, index = message.aggregate_version, message.event_index
    return (
        not (" " in text or "\0" in text)
        and type(index) is type(message.event_version) is int
        and 0 <= index < _PLAIN_NUMBERS
        and 0 <= message.event_version < _PLAIN_NUMBERS
        and (version is None or (type(version) is int and 0 <= version < _PLAIN_NUMBERS))
    )


def checked_key(message: OutboxMessage, key: str) -> str:
    """Return one of a message's keys, if no database changes it or takes it for another one."""
    value: str = getattr(message, key)
    if _is_keepable(value, LONGEST_KEY):
        return value
    raise _refused_text(key, value, LONGEST_KEY, _of(message))


def checked_number(message: OutboxMessage, name: str) -> int | None:
    """Return one of a message's numbers, if its column has the bits."""
    value: object = getattr(message, name)
    if value is None and name == "aggregate_version":
        return None
    # SQLite would make a float of it, MySQL and MariaDB (not strict) the largest that they have.
    limit = _LIMITS[name]
    if isinstance(value, bool) or not isinstance(value, int) or not -limit <= value < limit:
        raise RefusedByDatabaseError(
            f"{name} {reprlib.repr(value)}{_of(message)}: a whole number of {BITS[name]} bits"
        )
    return int(value)  # one of a class of its own may call itself otherwise


def headers_text(message: OutboxMessage) -> str:
    """Return a message's headers as JSON, if they are text."""
    if not message.headers:
        return "{}"
    for name, value in message.headers.items():
        if not (_is_storable(name) and _is_storable(value)):
            raise RefusedByDatabaseError(
                f"header {name!a:.60} of {value!a:.60}{_of(message)}: "
                "text without NUL and half surrogates"
            )
    return json.dumps(dict(message.headers))


def payload_text(message: OutboxMessage) -> str:
    """Return a message's payload as text, if it is UTF-8."""
    try:
        return message.payload.decode()
    except UnicodeDecodeError as error:
        raise RefusedByDatabaseError(
            f"payload of message {message.message_id!r} is not UTF-8 text: {error}"
        ) from error


def _is_keepable(key: str, longest: int) -> bool:
    # MySQL and MariaDB take "x" and "x " for the same key.
    is_fitting = 1 <= len(key) <= longest and key[-1] != " "
    return is_fitting and (key.isascii() or _UNSTORABLE.search(key) is None) and "\0" not in key


def _refused_text(name: str, value: str, longest: int, where: str = "") -> RefusedByDatabaseError:
    return RefusedByDatabaseError(
        f"{name} {shortened(value, longest)!r}{where}: 1 to {longest} characters, "
        "without NUL, half surrogates and a space at the end"
    )


def _is_storable(text: object) -> bool:
    return isinstance(text, str) and not _UNSTORABLE.search(text)


def _of(message: OutboxMessage) -> str:
    return f" of message {shortened(message.message_id, LONGEST_KEY)!r}"
