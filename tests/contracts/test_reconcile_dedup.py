"""Every deduplication of reconciling does what the contract says."""

import datetime as dt

import pytest

from pragmatic_ddd.ports import IReconcileDedup
from pragmatic_ddd.testing.reconcile_dedup import ReconcileDedupContract
from pragmatic_ddd_local import InMemoryReconcileDedup


class TestInMemory(ReconcileDedupContract):
    @pytest.fixture
    def dedup(self) -> IReconcileDedup:
        return InMemoryReconcileDedup(dt.timedelta(minutes=10))
