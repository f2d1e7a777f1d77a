"""Enums that a database and a reader can both use: a stored value, a name to show, a sentence.

    class OrderStatus(IEnumValue):
        PLACED = "placed", "placed", "the customer has ordered, and nothing is paid"
        PAID = "paid", "paid", "the money is here"

    OrderStatus("paid") is OrderStatus.PAID

An enum without names to show needs nothing of this: ``enum.StrEnum`` has values, too.
"""

import enum
from typing import Any, Self


class IEnumValue(enum.Enum):
    """An enum whose members are a value, a display name and, if need be, a description.

    The value is what is stored and what the enum is called with; it outlives a renamed member.
    Two members with the same value are refused when the class is made, with a ``ValueError``.

    Attributes:
        display_name: What a person reads.
        description: What it means, in a sentence; may be empty.
    """

    display_name: str
    description: str

    def __new__(cls, value: object, display_name: str = "", description: str = "") -> Self:
        """Make a member; its display name is its value, where none is given."""
        member = object.__new__(cls)
        member._value_ = value
        member.display_name = display_name or str(value)
        member.description = description
        return member

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401  # the enum's own
        super().__init_subclass__(**options)
        enum.unique(cls)
