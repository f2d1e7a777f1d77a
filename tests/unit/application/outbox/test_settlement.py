import logging

import pytest

from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd.ports import ClaimedMessage, Delivered, FailedTry, OutboxStatus, PublishPath
from pragmatic_ddd_local import CountingMetrics
from tests.unit.application.outbox.builders import (
    WatchedStore,
    a_message,
    failing,
    seconds,
    status,
)


@pytest.fixture
def store() -> WatchedStore:
    return WatchedStore()


@pytest.fixture
def metrics() -> CountingMetrics:
    return CountingMetrics()


def claimed(store: WatchedStore, count: int) -> list[ClaimedMessage]:
    store.store([a_message(f"m{number}", of=str(number)) for number in range(count)])
    claims = store.claim_pending(batch_size=count, lease=seconds(60))
    store.calls.clear()
    return claims


def one_of_each(store: WatchedStore) -> Settlement:
    sent, untried, failed, dead = claimed(store, 4)
    settlement = Settlement()
    settlement.sent.append(Delivered(claimed=sent, receipt="receipt"))
    settlement.untried.append(untried)
    settlement.failed.append(FailedTry(claimed=failed, error="no", retry_in=seconds(5)))
    settlement.dead.append(FailedTry(claimed=dead, error="never"))
    return settlement


def test_every_outcome_is_written_with_one_call_each(
    store: WatchedStore, metrics: CountingMetrics
) -> None:
    settlement = one_of_each(store)
    assert len(settlement) == 4

    settlement.write(store, metrics, PublishPath.RELAY)

    assert store.names() == ["mark_sent", "release", "retry_later", "mark_failed"]
    assert [status(store, f"m{number}") for number in range(4)] == [
        OutboxStatus.SENT,
        OutboxStatus.PENDING,
        OutboxStatus.PENDING,
        OutboxStatus.FAILED,
    ]
    assert metrics.count("published", path=PublishPath.RELAY) == 1
    assert metrics.count("dead_lettered") == 1
    assert len(settlement) == 0


def test_nothing_to_write_is_no_call(store: WatchedStore, metrics: CountingMetrics) -> None:
    Settlement().write(store, metrics, PublishPath.EAGER)

    assert store.calls == []


@pytest.mark.parametrize("name", ["mark_sent", "release", "retry_later", "mark_failed"])
def test_after_an_error_only_the_rest_is_written(
    store: WatchedStore, metrics: CountingMetrics, name: str
) -> None:
    settlement = one_of_each(store)
    store.before = failing(name)

    with pytest.raises(OutboxStoreError):
        settlement.write(store, metrics, PublishPath.RELAY)
    settlement.write(store, metrics, PublishPath.RELAY)

    assert sorted(store.names()) == sorted(
        ["mark_sent", "release", "retry_later", "mark_failed", name]
    )
    assert metrics.count("published") == 1
    assert metrics.count("dead_lettered") == 1


def test_results_that_came_too_late_are_counted_and_logged(
    store: WatchedStore, metrics: CountingMetrics, caplog: pytest.LogCaptureFixture
) -> None:
    late, in_time = claimed(store, 2)
    store.release([late])
    settlement = Settlement()
    settlement.sent += [Delivered(claimed=one, receipt="") for one in (late, in_time)]

    settlement.write(store, metrics, PublishPath.EAGER)

    assert settlement.lost == 1
    assert metrics.count("lease_lost", path=PublishPath.EAGER) == 1
    assert [record.getMessage() for record in caplog.records] == [
        "1 of 2 results came after the lease was over and were refused (eager)"
    ]
    assert status(store, late.message.message_id) is OutboxStatus.PENDING


def test_only_what_is_recorded_as_sent_is_counted_as_published(
    store: WatchedStore, metrics: CountingMetrics
) -> None:
    store.store([a_message(of=name, event_type=name) for name in ("late", "in.time", "as.well")])
    claims = store.claim_pending(batch_size=3, lease=seconds(60))
    store.release(claims[:1])
    settlement = Settlement()
    settlement.sent += [Delivered(claimed=one, receipt="") for one in claims]
    asked: list[str] = []

    def fails_at_the_third(name: str) -> None:
        asked.append(name)
        if len(asked) == 3:
            raise OutboxStoreError("the connection was lost")

    store.before = fails_at_the_third
    with pytest.raises(OutboxStoreError):
        settlement.write(store, metrics, PublishPath.RELAY)
    assert metrics.count("published") == 0
    settlement.write(store, metrics, PublishPath.RELAY)

    counted = {name: metrics.count("published", event_type=name) for name in ("late", "in.time")}
    assert counted == {"late": 0, "in.time": 1}
    assert metrics.count("published") == 2
    assert metrics.count("lease_lost") == 1


def test_a_mark_that_was_lost_alone_is_asked_for_once(
    store: WatchedStore, metrics: CountingMetrics
) -> None:
    (late,) = claimed(store, 1)
    store.release([late])
    store.calls.clear()
    settlement = Settlement()
    settlement.sent.append(Delivered(claimed=late, receipt=""))

    settlement.write(store, metrics, PublishPath.RELAY)

    assert store.names() == ["mark_sent"]
    assert metrics.count("published") == 0


def test_a_dead_letter_is_an_error_with_its_ids(
    store: WatchedStore, metrics: CountingMetrics, caplog: pytest.LogCaptureFixture
) -> None:
    (claim,) = claimed(store, 1)
    settlement = Settlement()
    settlement.dead.append(FailedTry(claimed=claim, error="EventRejectedError: too large"))

    settlement.write(store, metrics, PublishPath.EAGER)

    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage() == (
        "message m0 (shop.order.paid) of shop.order 0 is FAILED after 1 attempts and blocks its "
        "aggregate: EventRejectedError: too large"
    )


def test_one_takes_over_what_another_holds(store: WatchedStore) -> None:
    total = Settlement()

    total.add(one_of_each(store))

    assert len(total) == 4
    assert [len(one) for one in (total.sent, total.untried, total.failed, total.dead)] == [1] * 4
