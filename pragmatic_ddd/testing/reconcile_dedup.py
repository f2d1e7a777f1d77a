"""Contract of ``IReconcileDedup``: subclass it, provide a fixture, run pytest.

class TestMine(ReconcileDedupContract):
    @pytest.fixture
    def dedup(self) -> IReconcileDedup: ...
"""

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from pragmatic_ddd.ports.reconciliation import IReconcileDedup

_CALLERS = 8
_PATIENCE_SECONDS = 30.0


class ReconcileDedupContract:
    """What every deduplication promises: of many who would compare a view, one does."""

    @pytest.fixture
    @abstractmethod
    def dedup(self) -> IReconcileDedup:
        """Return one for which nothing was begun, and a minute ago is lately."""

    def test_of_callers_at_the_same_time_one_hears_yes(self, dedup: IReconcileDedup) -> None:
        start = Barrier(_CALLERS)

        def ask(_: int) -> bool:
            start.wait(_PATIENCE_SECONDS)
            return dedup.begin("orders", "o1")

        with ThreadPoolExecutor(_CALLERS) as pool:
            answers = list(pool.map(ask, range(_CALLERS)))

        assert sorted(answers) == [False] * (_CALLERS - 1) + [True]

    def test_who_comes_later_hears_no(self, dedup: IReconcileDedup) -> None:
        assert [dedup.begin("orders", "o1") for _ in range(3)] == [True, False, False]

    def test_each_view_of_each_read_model_is_by_itself(self, dedup: IReconcileDedup) -> None:
        asked = [("orders", "o1"), ("orders", "o2"), ("invoices", "o1"), ("orders", 1)]

        assert [dedup.begin(*each) for each in asked] == [True] * len(asked)
        assert [dedup.begin(*each) for each in asked] == [False] * len(asked)

    def test_what_was_forgotten_begins_again_and_no_other(self, dedup: IReconcileDedup) -> None:
        for read_model in ("orders", "invoices"):
            dedup.begin(read_model, "o1")

        dedup.forget("orders", "o1")

        assert dedup.begin("orders", "o1")
        assert not dedup.begin("orders", "o1")
        assert not dedup.begin("invoices", "o1")

    def test_what_was_never_begun_may_be_forgotten(self, dedup: IReconcileDedup) -> None:
        dedup.forget("orders", "o1")

        assert dedup.begin("orders", "o1")
