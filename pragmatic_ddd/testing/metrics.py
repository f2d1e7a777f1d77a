"""Contract of ``IEventMetrics``: subclass it, provide a ``metrics`` fixture, run pytest."""

import datetime as dt
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from pragmatic_ddd.ports import Backlog, IEventMetrics, PublishPath

_NAMES = ["shop.order.paid", "", "a" * 300, "naïve \N{GRINNING FACE} name", 'quo"te\\\n']
_CALLS: dict[str, Callable[[IEventMetrics, str], list[None]]] = {
    "published": lambda metrics, name: [metrics.published(name, path) for path in PublishPath],
    "publish_failed": lambda metrics, name: [
        metrics.publish_failed(name, path, counted=counted)
        for path in PublishPath
        for counted in (True, False)
    ],
    "dead_lettered": lambda metrics, name: [metrics.dead_lettered(name)],
    "left_to_relay": lambda metrics, _: [metrics.left_to_relay(count) for count in (0, 1, 10**12)],
    "lease_lost": lambda metrics, _: [metrics.lease_lost(path, 3) for path in PublishPath],
    "consumed": lambda metrics, name: [metrics.consumed(name, name)],
    "consume_failed": lambda metrics, name: [
        metrics.consume_failed(name, name, final=final) for final in (True, False)
    ],
    "relay_failed": lambda metrics, _: [metrics.relay_failed()],
    "backlog": lambda metrics, _: [
        metrics.backlog(
            Backlog(pending=1, processing=2, failed=3, oldest_unsent_age=dt.timedelta(days=40))
        )
    ],
}


class MetricsContract:
    """What every implementation promises: it counts whatever comes, and never gets in the way."""

    @pytest.mark.parametrize("name", _NAMES)
    @pytest.mark.parametrize("call", _CALLS.values(), ids=_CALLS)
    def test_counting_never_raises(
        self, metrics: IEventMetrics, call: Callable[[IEventMetrics, str], list[None]], name: str
    ) -> None:
        answers = call(metrics, name) + call(metrics, name)

        assert set(answers) == {None}

    def test_many_threads_may_count_at_once(self, metrics: IEventMetrics) -> None:
        def count_everything(number: int) -> None:
            for call in _CALLS.values():
                call(metrics, f"event.{number}")

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(count_everything, range(50))) == [None] * 50
