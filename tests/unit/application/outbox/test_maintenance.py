import datetime as dt

import pytest

from pragmatic_ddd.application.outbox.maintenance import OutboxMaintenance
from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd.ports import Backlog
from pragmatic_ddd_local import CountingMetrics
from tests.unit.application.outbox.builders import WatchedStore


class CountingStore(WatchedStore):
    """Counts what a relay does beside sending, and has a backlog of rows to purge."""

    to_purge = 0
    to_tidy = 0
    fails: str = ""

    def tidy(self) -> int:
        moved = min(self.to_tidy, 5000)
        self.to_tidy -= moved
        self.calls.append(("tidy", moved))
        return moved

    def purge(self, *, older_than: dt.timedelta, batch_size: int = 1000) -> int:
        if self.fails:
            self.calls.append(("failed purge", 0))
            raise OutboxStoreError(self.fails)
        deleted = min(self.to_purge, batch_size)
        self.to_purge -= deleted
        self.calls.append(("purge", deleted))
        return deleted


@pytest.fixture
def store() -> CountingStore:
    return CountingStore()


@pytest.fixture
def now() -> dict[str, float]:
    return {"now": 1000.0}


@pytest.fixture
def maintenance(store: CountingStore, now: dict[str, float]) -> OutboxMaintenance:
    return OutboxMaintenance(
        store=store,
        metrics=CountingMetrics(),
        retention=dt.timedelta(days=7),
        purge_batch=100,
        monotonic=lambda: now["now"],
    )


def test_it_tidies_after_a_round_that_was_not_full_but_not_for_each_call(
    maintenance: OutboxMaintenance, store: CountingStore, now: dict[str, float]
) -> None:
    for _ in range(100):  # a relay that is woken for each commit
        maintenance.step(round_was_full=False)
    assert store.names().count("tidy") == 1

    now["now"] += 1.0
    maintenance.step(round_was_full=False)
    assert store.names().count("tidy") == 2


def test_under_constant_load_it_tidies_now_and_then(
    maintenance: OutboxMaintenance, store: CountingStore, now: dict[str, float]
) -> None:
    for _ in range(60):
        now["now"] += 1.0
        maintenance.step(round_was_full=True)

    assert store.names().count("tidy") == 3


def test_while_many_rows_are_in_the_way_it_tidies_after_each_round(
    maintenance: OutboxMaintenance, store: CountingStore, now: dict[str, float]
) -> None:
    maintenance.step(round_was_full=False)
    now["now"] += 1.0
    store.to_tidy = 12_000

    for _ in range(10):
        maintenance.step(round_was_full=False)

    moved = [rows for name, rows in store.calls if name == "tidy"]
    assert moved == [0, 5000, 5000, 2000, 0]


def test_it_purges_in_batches_a_second_apart_and_then_once_a_minute(
    maintenance: OutboxMaintenance, store: CountingStore, now: dict[str, float]
) -> None:
    store.to_purge = 250

    for _ in range(100):
        maintenance.step(round_was_full=True)
        now["now"] += 1.0

    assert [rows for name, rows in store.calls if name == "purge"] == [100, 100, 50, 0]


def test_it_measures_the_backlog_twice_a_minute(
    maintenance: OutboxMaintenance, now: dict[str, float]
) -> None:
    for _ in range(61):
        maintenance.step(round_was_full=True)
        now["now"] += 1.0

    metrics = maintenance.metrics
    assert isinstance(metrics, CountingMetrics)
    assert metrics.count("backlog") == 3


def test_what_fails_is_put_off_and_hinders_nothing_else(
    maintenance: OutboxMaintenance,
    store: CountingStore,
    now: dict[str, float],
    caplog: pytest.LogCaptureFixture,
) -> None:
    store.fails = "permission denied"

    for _ in range(600):
        maintenance.step(round_was_full=False)
        now["now"] += 1.0

    assert 2 < store.names().count("failed purge") < 12
    assert store.names().count("tidy") == 600
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "permission denied" in caplog.text

    store.fails = ""
    now["now"] += 300.0
    maintenance.step(round_was_full=False)
    assert "purge" in store.names()


class FailingMetrics(CountingMetrics):
    """Breaks the port's contract."""

    def backlog(self, backlog: Backlog) -> None:
        raise RuntimeError("no metrics")

    def relay_failed(self) -> None:
        raise RuntimeError("no metrics")


def test_metrics_that_fail_do_not_reach_the_relay(caplog: pytest.LogCaptureFixture) -> None:
    maintenance = OutboxMaintenance(
        store=CountingStore(), metrics=FailingMetrics(), retention=dt.timedelta(days=7)
    )

    maintenance.step(round_was_full=False)

    assert "measuring the backlog failed" in caplog.text


def test_it_says_when_it_is_due_and_a_full_purge_is_due_soon(
    maintenance: OutboxMaintenance, store: CountingStore, now: dict[str, float]
) -> None:
    assert maintenance.due_in() == dt.timedelta()
    maintenance.step(round_was_full=False)
    assert maintenance.due_in() == maintenance.measure_every

    store.to_purge = 1000
    now["now"] += 60.0
    maintenance.step(round_was_full=False)
    assert maintenance.due_in() == dt.timedelta(seconds=1)
