"""Pages of a result: by number, for people who leaf through it.

A page shows rows twice or not at all when rows before it come or go in between, and the further
back it is the longer it takes. Where that matters, scroll.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

import attrs

RowT = TypeVar("RowT")
OtherT = TypeVar("OtherT")

_LARGEST_COUNT = 2**63 - 1  # of rows, in LIMIT and OFFSET


def _count(_: object, attribute: "attrs.Attribute[int]", value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{attribute.name} = {value!r}: give an int")
    if value < 1:
        raise ValueError(f"{attribute.name} = {value!r}: at least 1")


@attrs.frozen(kw_only=True)
class PageRequest:
    """Which page is asked for.

    Attributes:
        number: The page, from 1.
        size: How many rows a page has, at least 1. Bound it where it comes from a client.
        with_total: Whether all rows are counted, which takes as long as to find them all.

    Raises:
        TypeError: A number is no whole number.
        ValueError: It is below 1; or the page lies behind what databases can count.
    """

    number: int = attrs.field(default=1, validator=_count)
    size: int = attrs.field(default=20, validator=_count)
    with_total: bool = True

    def __attrs_post_init__(self) -> None:
        if self.offset + self.size >= _LARGEST_COUNT:
            raise ValueError(
                f"number = {self.number!r}: with size = {self.size!r} it is behind the row "
                f"{_LARGEST_COUNT}, further than databases count"
            )

    @property
    def offset(self) -> int:
        """How many rows come before the page."""
        return (self.number - 1) * self.size


@attrs.frozen(kw_only=True)
class PageResult(Generic[RowT]):
    """One page.

    Attributes:
        rows: Its rows in order; empty behind the end.
        number: The page, from 1.
        size: How many rows a full page has.
        has_next: Whether there are rows behind it.
        total: How many rows there are on all pages; ``None`` where they were not counted.
    """

    rows: tuple[RowT, ...]
    number: int
    size: int
    has_next: bool
    total: int | None = None

    @property
    def page_count(self) -> int | None:
        """How many pages there are; ``None`` where the rows were not counted."""
        return None if self.total is None else -(-self.total // self.size)

    def map(self, change: Callable[[RowT], OtherT]) -> "PageResult[OtherT]":
        """Return the same page of other rows."""
        return PageResult(
            rows=tuple(change(row) for row in self.rows),
            number=self.number,
            size=self.size,
            has_next=self.has_next,
            total=self.total,
        )
