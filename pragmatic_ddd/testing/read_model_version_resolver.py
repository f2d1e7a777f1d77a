"""Contract of ``IReadModelVersionResolver``: subclass it, provide the fixtures, run pytest.

class TestMine(ReadModelVersionResolverContract):
    @pytest.fixture
    def views(self) -> IReadModelVersionResolver: ...

    @pytest.fixture
    def write_view(self) -> Callable[[str, int], object]: ...

    @pytest.fixture
    def remove_view(self) -> Callable[[str], object]: ...
"""

from abc import abstractmethod
from collections.abc import Callable

import pytest

from pragmatic_ddd.ports.reconciliation import IReadModelVersionResolver


class ReadModelVersionResolverContract:
    """What every resolver promises: it tells the version of the view that is there now."""

    @pytest.fixture
    @abstractmethod
    def views(self) -> IReadModelVersionResolver:
        """Return the resolver of an empty read model."""

    @pytest.fixture
    @abstractmethod
    def write_view(self) -> Callable[[str, int], object]:
        """Return what writes the view of an aggregate, by its id, as it is in a version."""

    @pytest.fixture
    @abstractmethod
    def remove_view(self) -> Callable[[str], object]:
        """Return what removes the view of an aggregate."""

    def test_where_there_is_no_view_there_is_no_version(
        self, views: IReadModelVersionResolver
    ) -> None:
        assert views.version_of("o1") is None

    def test_the_version_is_that_of_the_latest_view(
        self, views: IReadModelVersionResolver, write_view: Callable[[str, int], object]
    ) -> None:
        seen = []
        for version in (1, 2, 7):
            write_view("o1", version)
            seen.append(views.version_of("o1"))

        assert seen == [1, 2, 7]

    def test_each_view_has_a_version_of_its_own(
        self, views: IReadModelVersionResolver, write_view: Callable[[str, int], object]
    ) -> None:
        write_view("o1", 3)
        write_view("o2", 5)

        assert [views.version_of(one) for one in ("o1", "o2", "o")] == [3, 5, None]

    def test_a_view_that_was_removed_has_no_version(
        self,
        views: IReadModelVersionResolver,
        write_view: Callable[[str, int], object],
        remove_view: Callable[[str], object],
    ) -> None:
        write_view("o1", 3)
        write_view("o2", 5)

        remove_view("o1")

        assert [views.version_of(one) for one in ("o1", "o2")] == [None, 5]
