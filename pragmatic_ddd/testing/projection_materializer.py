"""Contract of ``IProjectionMaterializer``: subclass it, provide the fixtures, run pytest.

class TestMine(ProjectionMaterializerContract):
    @pytest.fixture
    def materializer(self) -> IProjectionMaterializer[ListedOrder]: ...

    @pytest.fixture
    def text_of(self) -> Callable[[str], str | None]: ...
"""

from abc import abstractmethod
from collections.abc import Callable
from itertools import permutations

import attrs
import pytest

from pragmatic_ddd.ports.projections import IProjectionMaterializer


@attrs.frozen
class ListedOrder:
    """The view that is written.

    Attributes:
        order_id: The aggregate's id.
        text: The rest of the view; empty for an order that was deleted.
    """

    order_id: str
    text: str


class ProjectionMaterializerContract:
    """What every materializer promises: the latest version stays, in whatever order they come."""

    @pytest.fixture
    @abstractmethod
    def materializer(self) -> IProjectionMaterializer[ListedOrder]:
        """Return a materializer of an empty read model."""

    @pytest.fixture
    @abstractmethod
    def text_of(self) -> Callable[[str], str | None]:
        """Return what says which text the view of an order has; ``None``: there is no view."""

    def test_the_latest_version_stays_in_whatever_order_they_come(
        self,
        materializer: IProjectionMaterializer[ListedOrder],
        text_of: Callable[[str], str | None],
    ) -> None:
        for order in permutations([1, 2, 2, 3]):
            order_id = "".join(map(str, order))
            for version in order:
                materializer.materialize(ListedOrder(order_id, f"of {version}"), version=version)

            assert text_of(order_id) == "of 3"

    def test_it_says_whether_a_view_was_written(
        self, materializer: IProjectionMaterializer[ListedOrder]
    ) -> None:
        written = [
            materializer.materialize(ListedOrder("o1", f"{version}"), version=version)
            for version in (2, 2, 1, 5, 4)
        ]

        assert written == [True, False, False, True, False]

    def test_the_first_view_of_a_version_is_the_one(
        self,
        materializer: IProjectionMaterializer[ListedOrder],
        text_of: Callable[[str], str | None],
    ) -> None:
        materializer.materialize(ListedOrder("o1", "first"), version=1)
        materializer.materialize(ListedOrder("o1", "second"), version=1)

        assert text_of("o1") == "first"

    def test_a_removed_view_is_gone_and_no_other(
        self,
        materializer: IProjectionMaterializer[ListedOrder],
        text_of: Callable[[str], str | None],
    ) -> None:
        materializer.materialize(ListedOrder("o1", "one"), version=1)
        materializer.materialize(ListedOrder("o2", "two"), version=1)

        assert [materializer.remove("o1"), materializer.remove("o1")] == [True, False]
        assert (text_of("o1"), text_of("o2")) == (None, "two")

    def test_a_view_that_says_that_its_aggregate_is_gone_outlasts_late_ones(
        self,
        materializer: IProjectionMaterializer[ListedOrder],
        text_of: Callable[[str], str | None],
    ) -> None:
        materializer.materialize(ListedOrder("o1", ""), version=3)

        assert not materializer.materialize(ListedOrder("o1", "paid"), version=2)
        assert text_of("o1") == ""

    def test_a_version_below_one_is_refused(
        self,
        materializer: IProjectionMaterializer[ListedOrder],
        text_of: Callable[[str], str | None],
    ) -> None:
        with pytest.raises(ValueError, match="version = 0"):
            materializer.materialize(ListedOrder("o1", "one"), version=0)

        assert text_of("o1") is None

    def test_what_is_no_view_is_refused(
        self, materializer: IProjectionMaterializer[ListedOrder]
    ) -> None:
        with pytest.raises(TypeError):
            materializer.materialize("o1", version=1)  # type: ignore[arg-type]  # the point
