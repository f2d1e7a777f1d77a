"""The metrics contract, over every implementation."""

import pytest

from pragmatic_ddd.application.metrics import NoMetrics
from pragmatic_ddd.ports import IEventMetrics
from pragmatic_ddd.testing.metrics import MetricsContract
from pragmatic_ddd_local import CountingMetrics


class TestNone(MetricsContract):
    @pytest.fixture
    def metrics(self) -> IEventMetrics:
        return NoMetrics()


class TestCounting(MetricsContract):
    @pytest.fixture
    def metrics(self) -> IEventMetrics:
        return CountingMetrics()
