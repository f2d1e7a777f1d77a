import datetime as dt

from pragmatic_ddd.ports import Backlog, PublishPath
from pragmatic_ddd_local import CountingMetrics


def test_counts_can_be_read_by_any_label() -> None:
    metrics = CountingMetrics()
    metrics.published("a", PublishPath.EAGER)
    metrics.published("a", PublishPath.RELAY)
    metrics.published("b", PublishPath.RELAY)
    metrics.left_to_relay(3)
    metrics.left_to_relay(2)

    assert metrics.count("published") == 3
    assert metrics.count("published", event_type="a") == 2
    assert metrics.count("published", event_type="a", path=PublishPath.RELAY) == 1
    assert metrics.count("left_to_relay") == 5
    assert metrics.count("dead_lettered") == 0


def test_the_last_backlog_is_kept() -> None:
    metrics = CountingMetrics()
    assert metrics.last_backlog is None
    backlog = Backlog(pending=1, processing=0, failed=0, oldest_unsent_age=dt.timedelta())

    metrics.backlog(backlog)

    assert metrics.last_backlog == backlog
