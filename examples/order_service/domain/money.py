"""Money: an amount in one currency, equal by value."""

from decimal import Decimal
from typing import Self

import attrs
from attrs import validators

from pragmatic_ddd import DomainError

_CENT = Decimal("0.01")


class CurrencyMismatchError(DomainError):
    """Amounts of two currencies cannot be added."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one, other)
        self.one = one
        self.other = other

    def __str__(self) -> str:
        return f"cannot add {self.other} to {self.one}"


def _whole_cents(_: object, attribute: "attrs.Attribute[Decimal]", value: Decimal) -> None:
    if not value.is_finite() or value != value.quantize(_CENT):
        raise ValueError(f"{attribute.name} {value}: a whole number of cents")


@attrs.frozen
class Money:
    """So much of a currency; never negative, never a fraction of a cent."""

    amount: Decimal = attrs.field(validator=[_whole_cents, validators.ge(Decimal(0))])
    currency: str = attrs.field(validator=validators.matches_re("[A-Z]{3}"))

    @classmethod
    def of(cls, text: str) -> Self:
        """Read ``12.50 EUR``."""
        amount, currency = text.split(" ")
        return cls(Decimal(amount), currency)

    def __str__(self) -> str:
        return f"{self.amount:.2f} {self.currency}"

    def __add__(self, other: Self) -> Self:
        if other.currency != self.currency:
            raise CurrencyMismatchError(self.currency, other.currency)
        return attrs.evolve(self, amount=self.amount + other.amount)

    def __mul__(self, quantity: int) -> Self:
        return attrs.evolve(self, amount=self.amount * quantity)
