"""Stable names of aggregates and events: what the database and the broker see of a class."""

import re

import attrs

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
LONGEST_NAME = 200


def checked_name(name: object, owner: str) -> str:
    """Return ``name`` if it may be stored and sent for ever.

    Args:
        name: A name such as ``shop.order.paid``.
        owner: The class that bears it, for the error.

    Raises:
        TypeError: It is not text, is longer than 200 characters, or holds anything but ASCII
            letters, digits, ``.``, ``_`` and ``-`` after a letter.
    """
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise TypeError(
            f"name {name!r} of {owner}: a letter, then letters, digits, '.', '_' or '-', "
            f"at most {LONGEST_NAME} characters"
        )
    return name


def is_name(owner: object, attribute: "attrs.Attribute[str]", value: object) -> None:
    """Validate a field that holds such a name.

    Raises:
        TypeError: As ``checked_name``; the owner is class and field.
    """
    checked_name(value, f"{type(owner).__name__}.{attribute.name}")
