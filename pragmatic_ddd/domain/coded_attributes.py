"""What a registry class lists as its attributes, each under a code of its own."""

from abc import abstractmethod
from typing import Protocol, TypeVar


class ICoded(Protocol):
    """Something with a code."""

    @property
    @abstractmethod
    def code(self) -> str:
        """Its code, unique in a registry."""


CodedT = TypeVar("CodedT", bound=ICoded)


def coded_attributes(registry: type, kind: type[CodedT]) -> dict[str, CodedT]:
    """Return the attributes of a kind by their code, in order, those of the bases first.

    Raises:
        TypeError: Two attributes have the same code.
    """
    attributes: dict[str, object] = {}
    for owner in reversed(registry.__mro__):
        attributes.update(vars(owner))
    found: dict[str, CodedT] = {}
    for name, value in attributes.items():
        if not isinstance(value, kind):
            continue
        if value.code in found:
            raise TypeError(f"{registry.__qualname__}.{name}: the code {value.code!r} is taken")
        found[value.code] = value
    return found
