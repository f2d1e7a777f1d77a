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
    """What every attrs class is. Tools use it to tell values from entities."""

    __attrs_attrs__: tuple[object, ...]
