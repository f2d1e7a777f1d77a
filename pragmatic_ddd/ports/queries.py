"""Ports of the read side: what may be asked of a read model.

Each is one trait. The port of an application's own query takes those that it offers:

    class IOrderList(IPageQuery[OrderFilter, OrderSummary], ICountQuery[OrderFilter], Protocol):
        ...

Criteria and rows are plain values of the application: no aggregate, and no row of a database.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol, TypeVar

from pragmatic_ddd.ports.paging import PageRequest, PageResult
from pragmatic_ddd.ports.scrolling import ScrollPosition, ScrollResult

CriteriaT_contra = TypeVar("CriteriaT_contra", contravariant=True)
RowT_co = TypeVar("RowT_co", covariant=True)
RowT = TypeVar("RowT")


class IOneQuery(Protocol[CriteriaT_contra, RowT_co]):
    """Finds one row."""

    @abstractmethod
    def find_one(self, criteria: CriteriaT_contra) -> RowT_co | None:
        """Return the row that fits, or ``None``."""


class IListQuery(Protocol[CriteriaT_contra, RowT_co]):
    """Finds all rows, where they are known to be few."""

    @abstractmethod
    def find_all(self, criteria: CriteriaT_contra) -> Sequence[RowT_co]:
        """Return every row that fits, in the query's order; empty where none does."""


class ICountQuery(Protocol[CriteriaT_contra]):
    """Counts rows."""

    @abstractmethod
    def count(self, criteria: CriteriaT_contra) -> int:
        """Return how many rows fit."""


class IExistsQuery(Protocol[CriteriaT_contra]):
    """Says whether there is a row."""

    @abstractmethod
    def exists(self, criteria: CriteriaT_contra) -> bool:
        """Say whether any row fits."""


class IPageQuery(Protocol[CriteriaT_contra, RowT]):
    """Finds rows by pages, in an order in which no two rows are equal."""

    @abstractmethod
    def page(self, criteria: CriteriaT_contra, request: PageRequest) -> PageResult[RowT]:
        """Return one page of the rows that fit; an empty one behind the end."""


class IScrollQuery(Protocol[CriteriaT_contra, RowT]):
    """Finds rows part by part, in an order in which no two rows are equal."""

    @abstractmethod
    def scroll(
        self, criteria: CriteriaT_contra, *, after: ScrollPosition | None, limit: int
    ) -> ScrollResult[RowT]:
        """Return the next rows that fit.

        Args:
            criteria: The same as for the parts before.
            after: Where the part before ended; ``None``: from the start.
            limit: How many rows at most, at least 1.

        Raises:
            ScrollPositionError: The position is one of another order.
        """
