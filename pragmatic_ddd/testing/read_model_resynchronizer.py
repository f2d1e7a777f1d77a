"""Contract of ``IReadModelResynchronizer``: subclass it, provide the fixtures, run pytest.

class TestMine(ReadModelResynchronizerContract):
    @pytest.fixture
    def resynchronizer(self) -> IReadModelResynchronizer: ...

    @pytest.fixture
    def views(self) -> IReadModelVersionResolver: ...

    @pytest.fixture
    def aggregates(self) -> IUnheardAggregates: ...

    @pytest.fixture
    def write_view(self) -> Callable[[str, int], object]: ...
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Protocol

import pytest

from pragmatic_ddd.ports.reconciliation import IReadModelResynchronizer, IReadModelVersionResolver


class IUnheardAggregates(Protocol):
    """Changes aggregates of the read model, which does not hear of it."""

    @abstractmethod
    def save(self, aggregate_id: str) -> int:
        """Store a new aggregate, or change it where it is there; return its version."""

    @abstractmethod
    def delete(self, aggregate_id: str) -> None:
        """Delete an aggregate that is there."""


class ReadModelResynchronizerContract:
    """What every resynchronizer promises: afterwards the view is of the aggregate as it is now."""

    @pytest.fixture
    @abstractmethod
    def resynchronizer(self) -> IReadModelResynchronizer:
        """Return the resynchronizer of an empty read model; there are no aggregates either."""

    @pytest.fixture
    @abstractmethod
    def views(self) -> IReadModelVersionResolver:
        """Return what tells which views are committed, and of which versions."""

    @pytest.fixture
    @abstractmethod
    def aggregates(self) -> IUnheardAggregates:
        """Return what stores aggregates."""

    @pytest.fixture
    @abstractmethod
    def write_view(self) -> Callable[[str, int], object]:
        """Return what writes a view of a version, as a backup or a bug may leave it."""

    def test_a_view_that_is_missing_is_written(
        self,
        resynchronizer: IReadModelResynchronizer,
        views: IReadModelVersionResolver,
        aggregates: IUnheardAggregates,
    ) -> None:
        version = aggregates.save("o1")

        resynchronizer.resynchronize("o1")

        assert views.version_of("o1") == version

    def test_a_view_that_is_behind_is_brought_up(
        self,
        resynchronizer: IReadModelResynchronizer,
        views: IReadModelVersionResolver,
        aggregates: IUnheardAggregates,
    ) -> None:
        first = aggregates.save("o1")
        resynchronizer.resynchronize("o1")
        second = aggregates.save("o1")

        resynchronizer.resynchronize("o1")

        assert (views.version_of("o1"), second - first) == (second, 1)

    def test_a_view_that_is_ahead_is_taken_back(
        self,
        resynchronizer: IReadModelResynchronizer,
        views: IReadModelVersionResolver,
        aggregates: IUnheardAggregates,
        write_view: Callable[[str, int], object],
    ) -> None:
        version = aggregates.save("o1")
        write_view("o1", version + 5)

        resynchronizer.resynchronize("o1")

        assert views.version_of("o1") == version

    def test_a_view_of_what_is_gone_is_removed(
        self,
        resynchronizer: IReadModelResynchronizer,
        views: IReadModelVersionResolver,
        aggregates: IUnheardAggregates,
    ) -> None:
        aggregates.save("o1")
        resynchronizer.resynchronize("o1")
        aggregates.delete("o1")

        resynchronizer.resynchronize("o1")

        assert views.version_of("o1") is None

    def test_where_there_is_neither_nothing_happens(
        self, resynchronizer: IReadModelResynchronizer, views: IReadModelVersionResolver
    ) -> None:
        resynchronizer.resynchronize("o1")

        assert views.version_of("o1") is None

    def test_a_view_that_is_in_step_stays(
        self,
        resynchronizer: IReadModelResynchronizer,
        views: IReadModelVersionResolver,
        aggregates: IUnheardAggregates,
    ) -> None:
        version = aggregates.save("o1")

        for _ in range(2):
            resynchronizer.resynchronize("o1")

        assert views.version_of("o1") == version

    def test_no_other_view_is_touched(
        self,
        resynchronizer: IReadModelResynchronizer,
        views: IReadModelVersionResolver,
        aggregates: IUnheardAggregates,
        write_view: Callable[[str, int], object],
    ) -> None:
        for one in ("behind", "missing", "mine"):
            aggregates.save(one)
        write_view("behind", 1)
        aggregates.save("behind")
        write_view("of nobody", 4)

        resynchronizer.resynchronize("mine")

        others = ("behind", "missing", "of nobody")
        assert [views.version_of(one) for one in others] == [1, None, 4]
