"""The events of the serializer contract: a field for each kind of value, and a past."""

import dataclasses
import datetime as dt
import enum
from decimal import Decimal
from typing import Any
from uuid import UUID

import attrs

from pragmatic_ddd.domain import DomainEvent


class Currency(enum.Enum):
    """An enum with text."""

    EUR = "eur"
    JPY = "jpy"


class Size(enum.IntEnum):
    """An enum with numbers."""

    SMALL = 1
    LARGE = 2


class Colour(enum.StrEnum):
    """An enum that is text."""

    RED = "red"


class Rate(enum.Enum):
    """An enum with numbers that are no JSON numbers."""

    REDUCED = Decimal("0.070")
    FULL = Decimal("0.190")


@attrs.frozen
class Money:
    """A value object."""

    amount: Decimal
    currency: Currency = Currency.EUR


@attrs.frozen
class Line:
    """A value object that holds another one."""

    name: str
    price: Money


@attrs.frozen
class ServiceLine(Line):
    """A value object that is more than its base class."""

    hours: int = 0


@dataclasses.dataclass(frozen=True)
class Card:
    """A dataclass."""

    number: str


@attrs.frozen
class Transfer:
    """Another way to pay."""

    account: str
    due: dt.date | None = None


@attrs.frozen
class Folder:
    """A value object that holds its own kind."""

    name: str
    folders: "tuple[Folder, ...]" = ()


class ValuesRecorded(DomainEvent, name="contract.values.recorded"):
    """One field for each kind of value."""

    text: str | None = None
    number: int | None = None
    real: float | None = None
    truth: bool | None = None
    decimal: Decimal | None = None
    instant: dt.datetime | None = None
    day: dt.date | None = None
    hour: dt.time | None = None
    duration: dt.timedelta | None = None
    uuid: UUID | None = None
    data: bytes | None = None
    currency: Currency | None = None
    size: Size | None = None
    colour: Colour | None = None
    rate: Rate | None = None
    money: Money | None = None
    line: Line | None = None
    lines: list[Line] | None = None
    pair: tuple[int, str] | None = None
    numbers: tuple[int, ...] | None = None
    words: set[str] | None = None
    uuids: frozenset[UUID] | None = None
    by_text: dict[str, Money] | None = None
    by_number: dict[int, Line] | None = None
    by_uuid: dict[UUID, Decimal] | None = None
    by_enum: dict[Currency, list[Decimal | None]] | None = None
    payment: Card | Transfer | None = None
    payments: list[Card | Transfer] | None = None
    text_or_number: str | int | None = None
    folder: Folder | None = None
    nested: dict[str, list[tuple[int, frozenset[Size]]]] | None = None


class ContractSigned(
    DomainEvent, name="contract.signed", version=2, aliases=("contract.accepted",)
):
    """An event with a past: it had another name, and ``signer`` was ``by``."""

    signer: str
    pages: int = 1


class NeverRegistered(DomainEvent, name="contract.never_registered"):
    """An event that can be written, but not read."""

    text: str


def signed_from_version_1(raw: dict[str, Any]) -> dict[str, Any]:
    """Bring a payload of ``ContractSigned`` from version 1 to version 2."""
    raw["signer"] = raw.pop("by")
    return raw


CONTRACT_EVENTS = (ValuesRecorded, ContractSigned)
