"""Whom a message is for, where it is not for everybody who reads the topic."""

from typing import Any

import attrs


def _some_text(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
    if value is not None and (not isinstance(value, str) or not value):
        raise ValueError(f"{attribute.name} = {value!r}: text, not empty, or None for everybody")


@attrs.frozen(kw_only=True)
class Addressee:
    """Whom a message is for.

    Attributes:
        subscriber: Code of the one subscriber, and those that depend on it; all, where ``None``.
        only_this: Not for those that depend on it.
        consumer_group: The one group of consumers; all, where ``None``.
    """

    subscriber: str | None = attrs.field(default=None, validator=_some_text)
    only_this: bool = False
    consumer_group: str | None = attrs.field(default=None, validator=_some_text)


EVERYBODY = Addressee()
