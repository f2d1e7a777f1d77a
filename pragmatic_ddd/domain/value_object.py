"""Value objects: equal by value and exact class, never changed.

There is nothing to inherit: a value object is an attrs class.

    @attrs.frozen
    class Money:
        amount: Decimal
        currency: str
"""

from typing import Protocol, runtime_checkable


@runtime_checkable
class IValueObject(Protocol):
    """Any attrs class, for code that reads values by their fields; entities fit, too."""

    __attrs_attrs__: tuple[object, ...]
