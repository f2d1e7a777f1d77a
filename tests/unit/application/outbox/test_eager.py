import logging
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from pragmatic_ddd.application.outbox import (
    BrokerHealth,
    EagerOutboxPublisher,
    EagerPoolConfig,
    OutboxRelayConfig,
)
from pragmatic_ddd.application.outbox.lane_board import LaneBoard
from pragmatic_ddd.errors import BrokerUnavailableError, ConfigurationError, OutboxStoreError
from pragmatic_ddd.ports import Delivered, OutboxMessage, OutboxStatus, PublishPath, Receipt
from pragmatic_ddd.testing.faults import (
    ScriptedPublisher,
    fails,
    raises,
    rejects,
    unavailable,
    waits_for,
)
from pragmatic_ddd_local import CountingMetrics
from tests.unit.application.outbox.builders import (
    DEADLINE,
    FAR_AWAY,
    WatchedStore,
    a_message,
    eventually,
    failing,
    push,
    seconds,
    status,
    store_owned,
)

MakeEager = Callable[..., EagerOutboxPublisher]


@pytest.fixture
def store() -> WatchedStore:
    return WatchedStore()


@pytest.fixture
def publisher() -> ScriptedPublisher:
    return ScriptedPublisher(longest_call=seconds(1))


@pytest.fixture
def metrics() -> CountingMetrics:
    return CountingMetrics()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What hangs in a test goes on when it ends."""
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture
def make_eager(
    store: WatchedStore,
    publisher: ScriptedPublisher,
    metrics: CountingMetrics,
    gate: threading.Event,
) -> Iterator[MakeEager]:
    made: list[EagerOutboxPublisher] = []

    def make(
        *,
        workers: int = 4,
        queue_size: int = 1000,
        shutdown_timeout: float = 5.0,
        wake_relay: Callable[[], None] = lambda: None,
        config: OutboxRelayConfig | None = None,
    ) -> EagerOutboxPublisher:
        pool = EagerPoolConfig(
            workers=workers, queue_size=queue_size, shutdown_timeout=seconds(shutdown_timeout)
        )
        eager = EagerOutboxPublisher(
            store=store,
            publisher=publisher,
            config=config or OutboxRelayConfig(),
            pool=pool,
            metrics=metrics,
            wake_relay=wake_relay,
        )
        made.append(eager)
        return eager

    yield make
    gate.set()
    for eager in made:
        eager.shutdown()


@pytest.fixture
def eager(make_eager: MakeEager) -> EagerOutboxPublisher:
    return make_eager()


def is_idle(eager: EagerOutboxPublisher) -> bool:
    return eager.wait_until_idle(DEADLINE)


def test_a_row_that_was_born_owned_is_pushed_without_a_claim(
    eager: EagerOutboxPublisher,
    store: WatchedStore,
    publisher: ScriptedPublisher,
    metrics: CountingMetrics,
) -> None:
    push(eager, a_message("m1"))

    assert is_idle(eager)
    assert publisher.delivered_ids() == ["m1"]
    assert status(store, "m1") is OutboxStatus.SENT
    assert store.calls == [("mark_sent", 1)]
    assert metrics.count("published", path=PublishPath.EAGER) == 1


def test_the_receipt_is_kept(eager: EagerOutboxPublisher, store: WatchedStore) -> None:
    push(eager, a_message("m1"))

    assert is_idle(eager)
    entry = store.find("m1")
    assert entry is not None
    assert entry.receipt == "scripted: m1"


def test_a_row_without_an_owner_is_claimed_and_then_sent(
    eager: EagerOutboxPublisher, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    push(eager, a_message("m1", version=None))

    assert is_idle(eager)
    assert publisher.delivered_ids() == ["m1"]
    assert store.names() == ["claim", "mark_sent"]


def test_a_successor_goes_on_as_soon_as_its_predecessor_is_settled(
    eager: EagerOutboxPublisher,
    store: WatchedStore,
    publisher: ScriptedPublisher,
    gate: threading.Event,
) -> None:
    publisher.on("m1", waits_for(gate))
    push(eager, a_message("m1"))
    eventually(lambda: publisher.tried)
    (second,) = push(eager, a_message("m2"))
    assert second.claim is None, "its predecessor is unsent"

    gate.set()

    assert is_idle(eager)
    assert publisher.delivered_ids() == ["m1", "m2"]
    assert store.names() == ["mark_sent", "claim", "mark_sent"]


def test_the_order_of_an_aggregate_is_kept_by_many_workers(
    make_eager: MakeEager, publisher: ScriptedPublisher
) -> None:
    eager = make_eager(workers=8)

    for number in range(400):
        push(eager, a_message(f"{number % 10}-{number:03}", of=str(number % 10)))

    assert is_idle(eager)
    delivered = publisher.delivered_ids()
    assert len(delivered) == 400
    for aggregate in range(10):
        lane = [one for one in delivered if one.startswith(f"{aggregate}-")]
        assert lane == sorted(lane)


def test_announcements_in_another_order_than_the_commits_go_out_in_order_without_the_relay(
    eager: EagerOutboxPublisher,
    store: WatchedStore,
    publisher: ScriptedPublisher,
    metrics: CountingMetrics,
) -> None:
    reservations = [eager.reserve(1), eager.reserve(1)]
    first = store.store([a_message("m1")], reservation=reservations[0])
    second = store.store([a_message("m2", version=2)], reservation=reservations[1])

    eager.announce(second, reservations[1])
    eager.announce(first, reservations[0])

    assert is_idle(eager)
    assert publisher.delivered_ids() == ["m1", "m2"]
    assert metrics.count("left_to_relay") == 0


def test_marks_are_written_together_while_the_outbox_is_slow(
    eager: EagerOutboxPublisher,
    store: WatchedStore,
    publisher: ScriptedPublisher,
    gate: threading.Event,
) -> None:
    def slow(name: str) -> None:
        assert gate.wait(DEADLINE.total_seconds())

    store.before = slow
    push(eager, a_message(of="0"))
    eventually(lambda: store.calls)
    for number in range(1, 51):
        push(eager, a_message(of=str(number)))
    eventually(lambda: len(publisher.delivered) == 51)

    gate.set()

    assert is_idle(eager)
    assert store.calls == [("mark_sent", 1), ("mark_sent", 50)]


def test_a_failure_drops_the_rest_of_the_lane_and_wakes_the_relay(
    make_eager: MakeEager,
    store: WatchedStore,
    publisher: ScriptedPublisher,
    metrics: CountingMetrics,
    gate: threading.Event,
) -> None:
    woken = threading.Event()
    eager = make_eager(wake_relay=woken.set)
    publisher.on("m1", waits_for(gate), fails())
    publisher.on("m2", fails("no disk"))
    push(eager, a_message("m1"), a_message("m2"), a_message("m3"))
    eventually(lambda: publisher.tried)
    push(eager, a_message("m4", version=2))
    push(eager, a_message("of another", of="2"))

    gate.set()

    assert is_idle(eager)
    assert sorted(publisher.delivered_ids()) == ["m1", "of another"]
    assert [one.message_id for one in publisher.tried].count("m2") == 1, "the relay tries it again"
    assert woken.is_set()
    assert metrics.count("left_to_relay") == 2
    assert ("release", 1) in store.calls, "the owned one goes back at once"
    entry = store.find("m2")
    assert entry is not None
    assert "no disk" in (entry.last_error or "")
    assert entry.attempts == 1


def test_what_a_full_queue_left_behind_is_relayed_as_soon_as_its_predecessor_is_sent(
    make_eager: MakeEager, store: WatchedStore, publisher: ScriptedPublisher, gate: threading.Event
) -> None:
    woken: list[OutboxStatus] = []

    def wake() -> None:
        predecessor = store.find("m1")
        assert predecessor is not None
        woken.append(predecessor.status)

    eager = make_eager(queue_size=1, wake_relay=wake)
    publisher.on("m1", waits_for(gate))
    push(eager, a_message("m1"))
    push(eager, a_message("m2", version=2))
    push(eager, a_message("of another", of="2"))
    assert set(woken) == {OutboxStatus.PENDING}, "too early: m2 is hidden behind m1"

    gate.set()

    eventually(lambda: woken[-1] == OutboxStatus.SENT)
    assert [
        one.message.message_id for one in store.claim_pending(batch_size=9, lease=DEADLINE)
    ] == [
        "m2",
        "of another",
    ]


def test_a_lone_failure_wakes_the_relay_that_is_to_try_it_again(
    make_eager: MakeEager, publisher: ScriptedPublisher, metrics: CountingMetrics
) -> None:
    woken = threading.Event()
    eager = make_eager(wake_relay=woken.set)
    publisher.next(fails())

    push(eager, a_message())

    assert is_idle(eager)
    eventually(woken.is_set)
    assert metrics.count("left_to_relay") == 0, "it was tried"


def test_a_final_error_ends_in_a_dead_letter(
    eager: EagerOutboxPublisher, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    publisher.next(rejects("too large"))

    push(eager, a_message("m1"))

    assert is_idle(eager)
    assert status(store, "m1") is OutboxStatus.FAILED


def test_what_is_out_of_its_grace_is_not_sent_but_given_back(
    make_eager: MakeEager, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    woken = threading.Event()
    eager = make_eager(wake_relay=woken.set, config=OutboxRelayConfig(grace=seconds(4)))
    reservation = eager.reserve(1)
    store.monotonic = lambda: eager.monotonic() - 4.0  # as if it had waited that long

    eager.announce(store.store([a_message("m1")], reservation=reservation), reservation)

    assert is_idle(eager)
    eventually(woken.is_set)
    assert publisher.tried == []
    assert store.names() == ["release"]


def test_nothing_is_reserved_while_the_queue_is_full_and_what_comes_is_left_to_the_relay(
    make_eager: MakeEager,
    store: WatchedStore,
    publisher: ScriptedPublisher,
    metrics: CountingMetrics,
    gate: threading.Event,
) -> None:
    woken = threading.Event()
    eager = make_eager(queue_size=2, wake_relay=woken.set)
    with publisher.always(waits_for(gate)):
        push(eager, a_message(of="1"), a_message(of="2"))

        assert eager.reserve(1) is None
        (left,) = push(eager, a_message("m3", of="3"))

        assert left.claim is None
        assert woken.is_set()
        assert metrics.count("left_to_relay") == 1
        assert [one.message.message_id for one in store.claim_pending(batch_size=9, lease=DEADLINE)]
        gate.set()
        assert is_idle(eager)
    assert eager.reserve(2) is not None


def test_more_than_the_queue_can_ever_hold_is_left_to_the_relay(make_eager: MakeEager) -> None:
    eager = make_eager(queue_size=2)

    assert eager.reserve(3) is None


def test_a_transaction_without_a_commit_gives_its_room_back(make_eager: MakeEager) -> None:
    eager = make_eager(queue_size=1)
    reservation = eager.reserve(1)
    assert reservation is not None
    assert eager.reserve(1) is None

    eager.cancel(reservation)

    assert eager.reserve(1) is not None


def test_a_transaction_that_stored_nothing_gives_its_room_back(make_eager: MakeEager) -> None:
    eager = make_eager(queue_size=1)
    reservation = eager.reserve(1)

    eager.announce([], reservation)

    assert eager.reserve(1) is not None
    assert eager._threads == []


def test_a_closed_publisher_reserves_nothing_and_gives_owned_rows_back(
    eager: EagerOutboxPublisher,
    store: WatchedStore,
    publisher: ScriptedPublisher,
    metrics: CountingMetrics,
) -> None:
    reservation = eager.reserve(2)
    stored = store.store([a_message("m1"), a_message("m2", of="2")], reservation=reservation)
    eager.shutdown()

    eager.announce(stored, reservation)

    assert eager.reserve(1) is None
    assert store.calls == [("release", 2)]
    assert metrics.count("left_to_relay") == 2
    assert publisher.tried == []
    assert len(store.claim_pending(batch_size=9, lease=DEADLINE)) == 2, "due at once"


def explode() -> None:
    raise ZeroDivisionError("the relay is gone")


@pytest.mark.parametrize("error", [OutboxStoreError("no connection"), ZeroDivisionError()])
def test_announcing_never_raises_whatever_the_outbox_and_the_relay_do(
    make_eager: MakeEager, store: WatchedStore, metrics: CountingMetrics, error: Exception
) -> None:
    eager = make_eager(wake_relay=explode)
    reservation = eager.reserve(1)
    stored = store.store([a_message("m1")], reservation=reservation)
    eager.shutdown()

    def before(name: str) -> None:
        raise error

    store.before = before

    eager.announce(stored, reservation)

    assert metrics.count("left_to_relay") == 1, "counted once"


def test_a_publisher_that_breaks_its_contract_fails_its_message_only(
    make_eager: MakeEager, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    eager = make_eager(wake_relay=explode)
    publisher.on("m1", raises(ZeroDivisionError("a bug")))

    push(eager, a_message("m1", of="1"))
    push(eager, a_message("m2", of="2"))

    assert is_idle(eager)
    assert publisher.delivered_ids() == ["m2"]
    entry = store.find("m1")
    assert entry is not None
    assert entry.attempts == 1


def test_an_error_of_the_outbox_is_logged_once_and_the_mark_is_written_when_it_is_back(
    eager: EagerOutboxPublisher,
    store: WatchedStore,
    caplog: pytest.LogCaptureFixture,
) -> None:
    store.before = failing("mark_sent", times=3)

    push(eager, a_message("m1"))

    assert is_idle(eager), "though nothing else happens that could remind it"
    assert status(store, "m1") is OutboxStatus.SENT
    assert store.names() == ["mark_sent"] * 4
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_not_even_an_exit_ends_the_thread_that_writes_results(
    eager: EagerOutboxPublisher, store: WatchedStore
) -> None:
    times = iter([True])

    def exit_once(_: str) -> None:
        if next(times, False):
            raise SystemExit(1)

    store.before = exit_once

    push(eager, a_message("m1"))

    assert is_idle(eager)
    assert status(store, "m1") is OutboxStatus.SENT


def test_it_waits_longer_after_each_error_in_a_row_and_starts_anew_after_a_success(
    eager: EagerOutboxPublisher,
    store: WatchedStore,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(LaneBoard, "pause", lambda _, seconds: pauses.append(seconds))

    store.before = failing("mark_sent", times=3)
    push(eager, a_message(of="1"))
    assert is_idle(eager)
    store.before = failing("mark_sent")
    push(eager, a_message(of="2"))
    assert is_idle(eager)

    first, second, third, first_again = pauses
    assert 0.05 <= first <= 0.1 <= second <= 0.2 <= third <= 0.4
    assert 0.05 <= first_again <= 0.1
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2


def test_what_could_not_be_given_back_is_given_back_when_the_outbox_is_back(
    make_eager: MakeEager, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    calls: list[str] = []
    eager = make_eager(wake_relay=lambda: calls.append("woken"))
    store.before = failing("retry_later", times=2)
    publisher.on("m1", fails())

    push(eager, a_message("m1"), a_message("m2"))

    assert is_idle(eager)
    assert publisher.delivered_ids() == []
    assert store.names().count("retry_later") == 3
    assert store.names().count("release") == 1
    eventually(lambda: calls)


def test_a_claim_that_fails_is_tried_again(
    eager: EagerOutboxPublisher, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    store.before = failing("claim", times=2)

    push(eager, a_message("m1", version=None))

    assert is_idle(eager)
    assert publisher.delivered_ids() == ["m1"]


@pytest.mark.parametrize("asked", ["claim", "unclaimed"])
def test_what_waits_for_what_another_process_holds_is_tried_again_until_that_has_sent_it(
    eager: EagerOutboxPublisher, store: WatchedStore, publisher: ScriptedPublisher, asked: str
) -> None:
    (theirs,) = store_owned(store, a_message("theirs"))
    push(eager, a_message("ours", version=2))
    eventually(lambda: store.names().count(asked) >= 2)
    assert publisher.tried == []

    assert theirs.claim is not None
    store.mark_sent([Delivered(claimed=theirs.claim, receipt="")])

    assert is_idle(eager)
    assert publisher.delivered_ids() == ["ours"]


def test_what_a_relay_has_taken_meanwhile_takes_no_room_in_the_queue_until_grace(
    make_eager: MakeEager, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    eager = make_eager(queue_size=1)
    (theirs,) = store_owned(store, a_message("theirs"))
    push(eager, a_message("ours", version=2))
    eventually(lambda: "claim" in store.names())

    assert theirs.claim is not None
    store.before = failing("claim", times=1000)
    store.mark_sent([Delivered(claimed=theirs.claim, receipt="")])
    (ours,) = store.claim_pending(batch_size=1, lease=DEADLINE)
    store.before = lambda _: None

    assert is_idle(eager), "well before grace, and while the relay still sends"
    push(eager, a_message("another", of="2"))
    assert is_idle(eager)
    assert publisher.delivered_ids() == ["another"]
    assert store.mark_sent([Delivered(claimed=ours, receipt="")]) == 1


def test_what_another_process_holds_for_too_long_is_left_to_the_relay(
    make_eager: MakeEager, store: WatchedStore, metrics: CountingMetrics
) -> None:
    woken = threading.Event()
    eager = make_eager(wake_relay=woken.set, config=OutboxRelayConfig(grace=seconds(3.1)))
    store_owned(store, a_message("theirs"))
    now = eager.monotonic

    push(eager, a_message("ours", version=2))
    eventually(lambda: "claim" in store.names())
    eager._board.monotonic = lambda: now() + 3.2

    assert is_idle(eager)
    assert woken.is_set()
    assert metrics.count("left_to_relay") == 1


def test_in_an_outage_nothing_is_reserved_and_what_is_queued_goes_back(
    make_eager: MakeEager,
    store: WatchedStore,
    publisher: ScriptedPublisher,
    gate: threading.Event,
) -> None:
    woken = threading.Event()
    eager = make_eager(workers=1, wake_relay=woken.set)
    eager.health.monotonic = lambda: 0.0  # no probe is ever due
    publisher.on("m0", waits_for(gate))
    publisher.on("m1", unavailable())
    for number in range(10):
        push(eager, a_message(f"m{number}", of=str(number)))

    gate.set()

    assert is_idle(eager)
    assert [one.message_id for one in publisher.tried] == ["m0", "m1"]
    assert eager.reserve(1) is None
    assert woken.is_set()
    push(eager, a_message("m10", of="10"))
    assert is_idle(eager)
    assert len(publisher.tried) == 2


def test_the_broker_is_probed_with_one_lane_and_its_return_wakes_the_relay(
    store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    clock = {"now": 1000.0}
    health = BrokerHealth(monotonic=lambda: clock["now"])
    woken: list[str] = []
    with EagerOutboxPublisher(
        store=store, publisher=publisher, health=health, wake_relay=lambda: woken.append("woken")
    ) as eager:
        health.failed("m", BrokerUnavailableError("m", "topic", "refused"))
        assert eager.reserve(1) is None
        clock["now"] += health.probe_in.total_seconds()

        reservations = [eager.reserve(1), eager.reserve(1)]
        assert None not in reservations, "whoever sends first is the probe"
        push(eager, a_message("m1"))

        assert is_idle(eager)
        assert publisher.delivered_ids() == ["m1"]
        assert not health.is_away
        assert woken == ["woken"]


def test_an_unowned_row_may_be_the_probe_too(
    store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    clock = {"now": 1000.0}
    health = BrokerHealth(monotonic=lambda: clock["now"])
    with EagerOutboxPublisher(store=store, publisher=publisher, health=health) as eager:
        health.failed("m", BrokerUnavailableError("m", "topic", "refused"))
        clock["now"] += health.probe_in.total_seconds()

        push(eager, a_message("m1", version=None))

        assert is_idle(eager)
        assert not health.is_away


def test_a_probe_that_fails_keeps_the_next_one_waiting(
    store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    clock = {"now": 1000.0}
    health = BrokerHealth(monotonic=lambda: clock["now"])
    with EagerOutboxPublisher(store=store, publisher=publisher, health=health) as eager:
        health.failed("m", BrokerUnavailableError("m", "topic", "refused"))
        clock["now"] += health.probe_in.total_seconds()
        publisher.next(unavailable())

        push(eager, a_message("m1"))

        assert is_idle(eager)
        assert len(publisher.tried) == 1
        assert eager.reserve(1) is None


def test_a_probe_that_could_not_be_sent_is_given_to_the_next(
    store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    clock = {"now": 1000.0}
    health = BrokerHealth(monotonic=lambda: clock["now"])
    with EagerOutboxPublisher(store=store, publisher=publisher, health=health) as eager:
        health.failed("m", BrokerUnavailableError("m", "topic", "refused"))
        clock["now"] += health.probe_in.total_seconds()
        late = eager.reserve(1)
        store.monotonic = lambda: eager.monotonic() - 60.0

        eager.announce(store.store([a_message("late")], reservation=late), late)

        assert is_idle(eager)
        assert publisher.tried == []
        assert eager.reserve(1) is not None


def test_an_outbox_that_breaks_its_contract_does_not_keep_it_from_ending(
    make_eager: MakeEager,
    store: WatchedStore,
    publisher: ScriptedPublisher,
    caplog: pytest.LogCaptureFixture,
) -> None:
    eager = make_eager(shutdown_timeout=0.05)

    def broken(name: str) -> None:
        raise ZeroDivisionError("a bug")

    store.before = broken
    push(eager, a_message("m1"))
    eventually(lambda: publisher.delivered)
    eventually(lambda: caplog.records)

    assert eager.shutdown()

    assert all(record.exc_info for record in caplog.records)


def test_shutdown_sends_what_is_queued(
    make_eager: MakeEager, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    eager = make_eager(workers=1)
    for number in range(100):
        push(eager, a_message(of=str(number)))

    assert eager.shutdown()

    assert len(publisher.delivered) == 100
    assert store.backlog().pending == 0


def test_shutdown_gives_back_in_one_call_what_does_not_go_out_in_time(
    make_eager: MakeEager,
    store: WatchedStore,
    publisher: ScriptedPublisher,
    metrics: CountingMetrics,
    gate: threading.Event,
) -> None:
    eager = make_eager(workers=1, shutdown_timeout=0.05)
    publisher.on("m0", waits_for(gate))
    for number in range(20):
        push(eager, a_message(f"m{number}", of=str(number)))
    eventually(lambda: publisher.tried)
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(eager.shutdown()))
    thread.start()
    eventually(lambda: eager._board.is_aborted)

    gate.set()
    thread.join(DEADLINE.total_seconds())

    assert results == [True]
    assert publisher.delivered_ids() == ["m0"]
    assert sorted(store.calls) == [("mark_sent", 1), ("release", 19)]
    assert metrics.count("left_to_relay") == 19


def test_an_outage_stops_the_lanes_that_are_on_their_way(
    make_eager: MakeEager, publisher: ScriptedPublisher, gate: threading.Event
) -> None:
    eager = make_eager(workers=2)
    eager.health.monotonic = lambda: 0.0  # no probe is ever due
    publisher.on("a1", waits_for(gate))
    publisher.on("b1", unavailable())
    push(eager, a_message("a1", of="a"), a_message("a2", of="a"))
    eventually(lambda: publisher.tried)
    push(eager, a_message("b1", of="b"))
    eventually(lambda: eager.health.is_away)

    gate.set()

    assert is_idle(eager)
    assert publisher.delivered_ids() == ["a1"]


def test_what_waits_to_be_claimed_is_left_to_the_relay_in_an_outage(
    eager: EagerOutboxPublisher, store: WatchedStore, metrics: CountingMetrics
) -> None:
    store_owned(store, a_message("theirs"))
    push(eager, a_message("ours", version=2))
    eventually(lambda: "claim" in store.names())

    eager.health._next_probe = FAR_AWAY

    assert is_idle(eager)
    assert metrics.count("left_to_relay") == 1


def test_shutdown_does_not_wait_for_what_another_process_holds(
    make_eager: MakeEager, store: WatchedStore, metrics: CountingMetrics
) -> None:
    eager = make_eager(shutdown_timeout=25.0)
    store_owned(store, a_message("theirs"))
    push(eager, a_message("ours", version=2))
    eventually(lambda: "claim" in store.names())
    begun = time.monotonic()

    assert eager.shutdown()

    assert time.monotonic() - begun < 20
    assert metrics.count("left_to_relay") == 1


def test_shutdown_ends_a_lane_after_the_send_in_hand(
    make_eager: MakeEager,
    store: WatchedStore,
    publisher: ScriptedPublisher,
    gate: threading.Event,
) -> None:
    eager = make_eager(workers=1, shutdown_timeout=0.01)
    publisher.on("m1", waits_for(gate))
    push(eager, a_message("m1"), a_message("m2"))
    eventually(lambda: publisher.tried)
    ending = threading.Thread(target=eager.shutdown)
    ending.start()
    eventually(lambda: eager._board.is_aborted)

    gate.set()
    ending.join(DEADLINE.total_seconds())

    assert publisher.delivered_ids() == ["m1"]
    assert status(store, "m1") is OutboxStatus.SENT
    assert len(store.claim_pending(batch_size=9, lease=DEADLINE)) == 1


def test_shutdown_gives_back_what_is_being_claimed_when_its_time_is_over(
    make_eager: MakeEager,
    store: WatchedStore,
    publisher: ScriptedPublisher,
    gate: threading.Event,
) -> None:
    eager = make_eager(shutdown_timeout=0.01)
    claims = threading.Event()

    def slow(name: str) -> None:
        if name == "claim":
            claims.set()
            gate.wait(DEADLINE.total_seconds())

    store.before = slow
    push(eager, a_message("m1", version=None))
    assert claims.wait(DEADLINE.total_seconds())
    ending = threading.Thread(target=eager.shutdown)
    ending.start()
    eventually(lambda: eager._board.is_aborted)

    gate.set()
    ending.join(DEADLINE.total_seconds())

    assert publisher.delivered == []
    assert store.calls == [("claim", 1), ("release", 1)]
    assert len(store.claim_pending(batch_size=9, lease=DEADLINE)) == 1


def test_a_result_that_could_not_be_written_is_written_at_the_very_end(
    make_eager: MakeEager, store: WatchedStore
) -> None:
    eager = make_eager(shutdown_timeout=0.01)

    def away_until_the_end(name: str) -> None:
        if name == "mark_sent" and not eager._board.is_aborted:
            raise OutboxStoreError("the connection was lost")

    store.before = away_until_the_end
    push(eager, a_message("m1"))
    eventually(lambda: "mark_sent" in store.names())

    assert eager.shutdown()

    assert status(store, "m1") is OutboxStatus.SENT


def test_shutdown_gives_the_rest_back_and_says_so_when_a_publish_hangs(
    make_eager: MakeEager,
    store: WatchedStore,
    publisher: ScriptedPublisher,
    gate: threading.Event,
    caplog: pytest.LogCaptureFixture,
) -> None:
    publisher.longest_call = seconds(0.01)
    eager = make_eager(workers=1, shutdown_timeout=0.01)
    publisher.next(waits_for(gate))
    push(eager, a_message(of="1"), a_message(of="2"), a_message(of="3", version=None))
    eventually(lambda: publisher.tried)

    assert not eager.shutdown()

    assert store.names().count("release") == 1
    assert len(store.claim_pending(batch_size=9, lease=DEADLINE)) == 2
    assert not eager.shutdown(), "nor does the second call wait for it"
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_shutdown_is_bounded_while_the_outbox_is_away(
    make_eager: MakeEager, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    eager = make_eager(shutdown_timeout=0.05)
    store.before = failing("mark_sent", "release", times=10_000)
    push(eager, a_message())
    eventually(lambda: store.calls)

    assert eager.shutdown()


def test_a_shutdown_that_follows_one_that_is_complete_does_nothing(
    eager: EagerOutboxPublisher, store: WatchedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(eager, a_message())
    assert eager.shutdown()
    calls = list(store.calls)
    waits: list[object] = []
    monkeypatch.setattr(LaneBoard, "wait_until_idle", lambda *_: waits.append("idle"))
    monkeypatch.setattr(threading.Thread, "join", lambda *_: waits.append("thread"))

    assert eager.shutdown()

    assert store.calls == calls
    assert waits == []


def test_a_second_shutdown_waits_for_what_the_first_could_not_finish(
    make_eager: MakeEager, store: WatchedStore
) -> None:
    eager = make_eager(shutdown_timeout=0.01)
    can_write = threading.Event()
    store.before = lambda name: name != "mark_sent" or can_write.wait(DEADLINE.total_seconds())
    push(eager, a_message("m1"))
    eventually(lambda: "mark_sent" in store.names())
    assert not eager.shutdown()
    threading.Timer(0.1, can_write.set).start()

    assert eager.shutdown()

    assert status(store, "m1") is OutboxStatus.SENT


def test_a_publisher_that_was_never_used_has_no_threads_and_shuts_down(
    eager: EagerOutboxPublisher,
) -> None:
    assert eager._threads == []
    assert eager.shutdown()


def test_shutdown_from_one_of_its_own_threads_does_not_wait_for_itself(
    make_eager: MakeEager, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    eager = make_eager(shutdown_timeout=0.01)
    results: list[bool] = []

    def shuts_down(_: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        publisher.longest_call = seconds(0.01)
        results.append(eager.shutdown())
        return confirm()

    publisher.next(shuts_down)
    push(eager, a_message("m1"))

    eventually(lambda: status(store, "m1") is OutboxStatus.SENT)
    assert results == [False]


def test_waiting_for_idle_tells_when_it_is_not_reached(
    eager: EagerOutboxPublisher, publisher: ScriptedPublisher, gate: threading.Event
) -> None:
    publisher.next(waits_for(gate))
    push(eager, a_message())

    assert not eager.wait_until_idle(seconds(0.01))

    gate.set()
    assert is_idle(eager)


def test_threads_that_could_not_be_started_are_started_with_the_next_event(
    make_eager: MakeEager, publisher: ScriptedPublisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    eager = make_eager(workers=1)

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        push(eager, a_message("m1"))
    assert publisher.tried == []

    push(eager, a_message("m2", of="2"))

    assert is_idle(eager)
    assert sorted(publisher.delivered_ids()) == ["m1", "m2"]


def test_a_grace_that_is_too_short_for_the_publisher_is_refused(
    store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    publisher.longest_call = seconds(29)

    with pytest.raises(ConfigurationError, match=r"outbox\.grace = 0:00:30"):
        EagerOutboxPublisher(store=store, publisher=publisher)
