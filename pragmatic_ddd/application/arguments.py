"""Checks of what a caller gave: a mistake is named where it was made, not where it hurts."""

import abc
from collections.abc import Callable, Collection
from typing import Any

import attrs

# Any: a field's type must not be inferred from its validator.
Validator = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def implements(port: abc.ABCMeta) -> Validator:
    """Return an attrs validator: the value has what the port names, whatever its class is.

    Raises:
        TypeError: Something is missing, or the value is a class.
    """
    names = sorted(port.__abstractmethods__)

    def check(_: object, attribute: "attrs.Attribute[Any]", value: object) -> None:
        if isinstance(value, type):
            raise TypeError(f"{attribute.name}: {value!r} is a class: give an object made of it")
        missing = [name for name in names if not hasattr(value, name)]
        if missing:
            raise TypeError(
                f"{attribute.name}: {value!r} is no {port.__name__}: it has no {', '.join(missing)}"
            )

    return check


def refuse_text(name: str, values: Collection[str]) -> None:
    """Refuse one text where many are asked for: each of its letters would be taken for one.

    Raises:
        TypeError: It is one.
    """
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{name} is {values!r}: give a list, such as [{values!r}]")
