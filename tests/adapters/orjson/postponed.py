"""Events of a module whose annotations are text, as ``from __future__`` makes them."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from decimal import Decimal
from uuid import UUID

import attrs

from pragmatic_ddd import DomainEvent


class Currency(enum.Enum):
    EUR = "eur"


@dataclasses.dataclass(frozen=True)
class Money:
    amount: Decimal
    currency: Currency = Currency.EUR


@attrs.frozen
class Line:
    sku: str
    price: Money


@attrs.frozen
class Card:
    number: str


@attrs.frozen
class Transfer:
    iban: str


class OrderPlaced(DomainEvent, name="test.postponed"):
    lines: list[Line]
    by_number: dict[int, Line]
    pair: tuple[int, str]
    keys: frozenset[UUID]
    due: dt.date | None
    paid_by: Card | Transfer
    within: dt.timedelta
    scan: bytes
    at: dt.time
    previous: OrderLink | None = None


@attrs.frozen
class OrderLink:
    """Defined after the event that holds it."""

    order_id: str
    next: OrderLink | None = None
