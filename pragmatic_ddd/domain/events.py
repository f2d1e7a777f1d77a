"""Domain events: business facts in the past tense, immutable, with a stable name.

    class OrderPaid(DomainEvent, name="shop.order.paid", version=1):
        total: Money

The name and the version are what the database and the broker see; the class may be renamed
and moved. A class without a name is a family: it can be inherited from, but not raised.
"""

import datetime as dt
from typing import ClassVar, Self

import attrs

from pragmatic_ddd.domain.identifiers import uuid7_text
from pragmatic_ddd.domain.model import FrozenModel
from pragmatic_ddd.domain.names import checked_name

LONGEST_ID = 200


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def is_text_id(event: object, attribute: "attrs.Attribute[str]", value: object) -> None:
    """Validate a field that holds an id.

    Raises:
        TypeError: It is no text.
        ValueError: It is empty or too long, or has what some databases take for something else.
    """
    where = f"{type(event).__name__}.{attribute.name}"
    if not isinstance(value, str):
        raise TypeError(
            f"{where} must be text, not {value!r}: pass str(id) of an integer or a UUID, and "
            f"collect_event_later() where the database has yet to give the id"
        )
    # Some databases take "x" and "x " for the same key.
    if not value or value != value.strip() or len(value) > LONGEST_ID or not value.isprintable():
        raise ValueError(
            f"{where} is {value!r}: 1 to {LONGEST_ID} printable characters, no space at its ends"
        )


def _aware(event: object, attribute: "attrs.Attribute[dt.datetime]", value: object) -> None:
    if not isinstance(value, dt.datetime) or value.utcoffset() is None:
        raise ValueError(
            f"{type(event).__name__}.{attribute.name} is {value!r}: a datetime with a time zone"
        )


def _check_version(version: object, owner: str) -> None:
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise TypeError(f"version {version!r} of {owner}: a whole number, from 1")


def _check_aliases(aliases: object, owner: str) -> None:
    if not isinstance(aliases, tuple):
        raise TypeError(f"aliases {aliases!r} of {owner}: a tuple of names")


class DomainEvent(FrozenModel):
    """A business fact. Subclass it with a ``name``; add the facts as annotated fields.

    Class keywords:
        name: Stable name, such as ``shop.order.paid``.
        version: Schema version of the fields, from 1; raised when older payloads do not fit.
        aliases: Names that the event had before, still understood when read.

    Attributes:
        aggregate_id: Identity, as text, of the aggregate that raised it.
        event_id: UUIDv7 text, stable over every resend; what a consumer deduplicates on.
        occurred_at: When it happened, with a time zone; unless given, by the clock of the process.
        operation_code: The business operation that caused it, if one was named.
        aggregate_version: Version of the aggregate that this event belongs to; 0 until it is
            stored, and for aggregates without a version.
        event_index: Place among the events of that version, from 0.
    """

    event_type: ClassVar[str] = ""
    event_version: ClassVar[int] = 1
    event_aliases: ClassVar[tuple[str, ...]] = ()

    aggregate_id: str = attrs.field(validator=is_text_id)
    event_id: str = attrs.field(factory=uuid7_text, validator=is_text_id)
    occurred_at: dt.datetime = attrs.field(factory=_now, validator=_aware)
    operation_code: str | None = None
    aggregate_version: int = 0
    event_index: int = 0

    def __init_subclass__(
        cls, *, name: str | None = None, version: int = 1, aliases: tuple[str, ...] = ()
    ) -> None:
        super().__init_subclass__()
        owner = cls.__qualname__
        _check_version(version, owner)
        _check_aliases(aliases, owner)
        cls.event_type = "" if name is None else checked_name(name, owner)
        cls.event_version = int(version)  # one of an enum would be sent by its name
        cls.event_aliases = tuple(checked_name(alias, owner) for alias in aliases)

    def __attrs_pre_init__(self, *_: object, **__: object) -> None:
        if not self.event_type:
            raise TypeError(
                f"{type(self).__qualname__} has no name, so it cannot be raised: "
                f'class {type(self).__name__}(DomainEvent, name="...")'
            )

    def placed_at(self, version: int, index: int) -> Self:
        """Return a copy with its place in the aggregate's history; what stores events calls it."""
        # Not evolve(): it would check anew, for each event, what was checked when it was made.
        placed = object.__new__(type(self))
        placed.__dict__.update(self.__dict__, aggregate_version=version, event_index=index)
        return placed

    def caused_by(self, operation_code: str) -> Self:
        """Return a copy that names the business operation that caused it."""
        caused = object.__new__(type(self))
        caused.__dict__.update(self.__dict__, operation_code=operation_code)
        return caused
