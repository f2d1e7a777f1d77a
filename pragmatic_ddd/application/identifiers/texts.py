"""Ids that are text: numbers that people can read out, and UUIDs."""

import attrs

from pragmatic_ddd.application.arguments import check_type, implements, of_type
from pragmatic_ddd.domain.identifiers import uuid7_text
from pragmatic_ddd.errors import IdSequenceExhaustedError
from pragmatic_ddd.ports.identifiers import IIdGenerator


@attrs.frozen(kw_only=True)
class TextIdGenerator:
    """Writes numbers as text with a prefix and leading zeros: ``INV-000042``.

    Attributes:
        numbers: Where the numbers come from.
        prefix: What stands before each.
        digits: How many digits each has, so that the texts sort like the numbers; 0: as many as
            it needs.

    Raises:
        TypeError: Something else was given than is asked for.
        ValueError: ``digits`` is below 0.
    """

    numbers: IIdGenerator[int] = attrs.field(validator=implements(IIdGenerator))
    prefix: str = attrs.field(default="", validator=of_type(str))
    digits: int = 0

    def __attrs_post_init__(self) -> None:
        check_type("digits", self.digits, int)
        if self.digits < 0:
            raise ValueError(f"digits = {self.digits}: at least 0")

    def next_id(self) -> str:
        """Return the next number as text.

        Raises:
            IdSequenceExhaustedError: It has more than ``digits`` digits; it is lost.
            IdAllocationError: There is no number now.
        """
        number = str(self.numbers.next_id())
        if 0 < self.digits < len(number):
            raise IdSequenceExhaustedError(
                self.prefix, f"{number} has more than {self.digits} digits"
            )
        return f"{self.prefix}{number:0>{self.digits}}"


@attrs.frozen
class Uuid7IdGenerator:
    """Makes UUIDs of version 7 as text, for what asks for an ``IIdGenerator[str]``."""

    def next_id(self) -> str:
        """Return a new one; needs no database and never fails."""
        return uuid7_text()
