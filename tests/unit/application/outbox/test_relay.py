import datetime as dt
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from pragmatic_ddd.application.outbox import (
    BrokerHealth,
    OutboxRelay,
    OutboxRelayConfig,
    RelayRound,
)
from pragmatic_ddd.errors import BrokerUnavailableError, ConfigurationError, OutboxStoreError
from pragmatic_ddd.ports import (
    ClaimedMessage,
    OutboxMessage,
    OutboxStatus,
    PublishPath,
    Receipt,
)
from pragmatic_ddd.testing.clock import SettableClock
from pragmatic_ddd.testing.faults import ScriptedPublisher, fails, rejects, unavailable, waits_for
from pragmatic_ddd_local import CountingMetrics
from tests.unit.application.outbox.builders import (
    DEADLINE,
    Gate,
    WatchedStore,
    a_message,
    eventually,
    failing,
    seconds,
    status,
    store_owned,
)

POLL = dt.timedelta(seconds=25)  # less than the pause of any chore


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def store(clock: SettableClock) -> WatchedStore:
    return WatchedStore(clock)


@pytest.fixture
def publisher() -> ScriptedPublisher:
    return ScriptedPublisher(longest_call=seconds(1))


@pytest.fixture
def metrics() -> CountingMetrics:
    return CountingMetrics()


@pytest.fixture
def relay(
    store: WatchedStore, publisher: ScriptedPublisher, metrics: CountingMetrics
) -> Iterator[OutboxRelay]:
    config = OutboxRelayConfig(batch_size=10, max_attempts=3, poll_interval=POLL)
    relay = OutboxRelay(store=store, publisher=publisher, config=config, metrics=metrics)
    yield relay
    relay.shutdown()


class Pauses:
    """Stands in for the sleep of a relay: notes how long, and goes on at once."""

    def __init__(self, relay: OutboxRelay, *, stop_after: int) -> None:
        self.taken: list[dt.timedelta] = []
        self._relay = relay
        self._stop_after = stop_after

    def __call__(self, pause: dt.timedelta, *, may_be_woken: bool) -> None:
        self.taken.append(pause)
        if len(self.taken) >= self._stop_after:
            self._relay.stop()


@pytest.fixture
def pauses_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dt.timedelta]]:
    """Run rounds without sleeping, and return how long it would have slept after each."""

    def run(relay: OutboxRelay, *, rounds: int) -> list[dt.timedelta]:
        pauses = Pauses(relay, stop_after=rounds)
        with monkeypatch.context() as patch:
            patch.setattr(
                OutboxRelay,
                "_sleep",
                lambda _, pause, may_be_woken: pauses(pause, may_be_woken=may_be_woken),
            )
            relay.run()
        return pauses.taken

    return run


def test_a_round_without_work_is_empty(relay: OutboxRelay, publisher: ScriptedPublisher) -> None:
    assert relay.run_once() == RelayRound()
    assert publisher.tried == []


def test_a_round_says_what_became_of_its_messages(
    relay: OutboxRelay, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    store.store([a_message(f"a{n}", of="a") for n in range(3)])
    store.store([a_message(f"b{n}", of="b") for n in range(2)])
    publisher.on("a1", fails())
    publisher.on("b0", rejects())

    done = relay.run_once()

    assert done == RelayRound(claimed=5, sent=1, failed=1, dead=1, untried=2, lost=0, full=False)
    assert status(store, "a0") is OutboxStatus.SENT
    assert status(store, "a1") is OutboxStatus.PENDING
    assert status(store, "b0") is OutboxStatus.FAILED


def test_a_round_needs_a_constant_number_of_statements(
    relay: OutboxRelay, store: WatchedStore
) -> None:
    store.store([a_message(of=str(n)) for n in range(10)])

    relay.run_once()

    assert store.calls == [("claim_pending", 10), ("mark_sent", 10)]


def test_a_full_batch_says_so(relay: OutboxRelay, store: WatchedStore) -> None:
    store.store([a_message(of=str(n)) for n in range(10)])

    assert relay.run_once().full
    assert not relay.run_once().full


def test_rows_that_were_taken_over_come_apart_and_more_is_probably_due(
    relay: OutboxRelay, store: WatchedStore, clock: SettableClock, publisher: ScriptedPublisher
) -> None:
    store_owned(store, a_message("lapsed", of="1"))
    store.store([a_message("healthy", of="2")])
    clock.advance(seconds(31))

    rounds = [relay.run_once(), relay.run_once()]

    assert [done.sent for done in rounds] == [1, 1]
    assert sorted(publisher.delivered_ids()) == ["healthy", "lapsed"]


def test_a_message_that_kills_its_process_ends_dead_without_another_try(
    relay: OutboxRelay,
    store: WatchedStore,
    clock: SettableClock,
    publisher: ScriptedPublisher,
    metrics: CountingMetrics,
) -> None:
    store.store([a_message("m1")])
    for _ in range(3):  # three processes claim it and die
        assert store.claim_pending(batch_size=1, lease=seconds(60))
        clock.advance(seconds(61))

    done = relay.run_once()

    assert done.dead == 1
    assert publisher.tried == []
    assert status(store, "m1") is OutboxStatus.FAILED
    assert metrics.count("dead_lettered") == 1


def test_a_message_is_tried_exactly_as_often_as_configured(
    relay: OutboxRelay, store: WatchedStore, clock: SettableClock, publisher: ScriptedPublisher
) -> None:
    store.store([a_message("m1")])

    with publisher.always(fails()):
        for _ in range(10):
            relay.run_once()
            clock.advance(dt.timedelta(minutes=5))

    assert len(publisher.tried) == 3
    assert status(store, "m1") is OutboxStatus.FAILED


def test_in_an_outage_only_a_probe_is_claimed_and_no_attempt_is_counted(
    store: WatchedStore, clock: SettableClock, publisher: ScriptedPublisher
) -> None:
    now = {"now": 1000.0}
    health = BrokerHealth(monotonic=lambda: now["now"])
    relay = OutboxRelay(store=store, publisher=publisher, health=health)
    store.store([a_message(f"m{n}", of=str(n)) for n in range(20)])

    with publisher.always(unavailable()):
        first = relay.run_once()
        assert (first.claimed, first.failed, first.untried) == (20, 1, 19)
        assert relay.run_once() == RelayRound()
        for _ in range(10):
            now["now"] += health.probe_in.total_seconds()
            clock.advance(dt.timedelta(minutes=5))
            assert relay.run_once().claimed == 1
    now["now"] += health.probe_in.total_seconds()
    clock.advance(dt.timedelta(minutes=5))

    sizes = [relay.run_once().sent for _ in range(6)]

    assert sizes == [1, 2, 4, 8, 5, 0], "one probe, and then ever more"
    entries = [store.find(f"m{n}") for n in range(20)]
    assert all(entry is not None and entry.attempts == 0 for entry in entries)


def test_a_probe_that_found_nothing_to_send_is_not_spent(
    store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    now = {"now": 1000.0}
    health = BrokerHealth(monotonic=lambda: now["now"])
    relay = OutboxRelay(store=store, publisher=publisher, health=health)
    health.failed("m", BrokerUnavailableError("m", "topic", "refused"))
    now["now"] += health.probe_in.total_seconds()

    relay.run_once()
    store.before = failing("claim_pending")
    with pytest.raises(OutboxStoreError):
        relay.run_once()
    store.store([a_message()])

    assert relay.run_once().sent == 1


def test_a_probe_that_could_not_be_sent_in_its_lease_is_not_spent(
    store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    now = {"now": 1000.0}
    health = BrokerHealth(monotonic=lambda: now["now"])
    relay = OutboxRelay(store=store, publisher=publisher, health=health)
    health.failed("m", BrokerUnavailableError("m", "topic", "refused"))
    now["now"] += health.probe_in.total_seconds()
    store.store([a_message()])
    store.monotonic = lambda: relay.monotonic() - 60.0  # as if the claim had taken that long

    assert relay.run_once().untried == 1

    store.monotonic = relay.monotonic
    assert relay.run_once().sent == 1


def test_results_that_could_not_be_written_are_written_by_the_next_round(
    relay: OutboxRelay, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    store.store([a_message("m1"), a_message("m2", of="2")])
    store.before = failing("mark_sent")
    with pytest.raises(OutboxStoreError):
        relay.run_once()

    relay.run_once()

    assert status(store, "m1") is OutboxStatus.SENT
    assert status(store, "m2") is OutboxStatus.SENT
    assert len(publisher.tried) == 2, "no duplicate"


def test_a_result_that_came_too_late_is_counted_as_lost(
    relay: OutboxRelay, store: WatchedStore, clock: SettableClock, metrics: CountingMetrics
) -> None:
    store.store([a_message("m1")])

    def somebody_else_takes_it(name: str) -> None:
        if name == "mark_sent":
            clock.advance(seconds(61))
            store.before = lambda _: None
            assert store.claim_pending(batch_size=1, lease=seconds(60))

    store.before = somebody_else_takes_it

    assert relay.run_once().lost == 1
    assert metrics.count("lease_lost", path=PublishPath.RELAY) == 1
    assert status(store, "m1") is OutboxStatus.PROCESSING


def test_no_pause_until_nothing_is_found_and_then_the_poll_interval(
    relay: OutboxRelay, store: WatchedStore, pauses_of: Callable[..., list[dt.timedelta]]
) -> None:
    store.store([a_message(of=str(n)) for n in range(25)])

    pauses = pauses_of(relay, rounds=4)

    assert pauses == [seconds(0), seconds(0), seconds(0), POLL]


def test_it_sleeps_until_the_next_message_is_due(
    relay: OutboxRelay,
    store: WatchedStore,
    clock: SettableClock,
    pauses_of: Callable[..., list[dt.timedelta]],
) -> None:
    store_owned(store, a_message("owned for half a minute"))
    clock.advance(seconds(10))

    assert pauses_of(relay, rounds=1) == [seconds(20)]


def test_it_sleeps_no_longer_than_until_the_next_chore(
    store: WatchedStore,
    publisher: ScriptedPublisher,
    pauses_of: Callable[..., list[dt.timedelta]],
) -> None:
    relay = OutboxRelay(store=store, publisher=publisher, monotonic=lambda: 1000.0)

    assert pauses_of(relay, rounds=1) == [seconds(30)], "when the backlog is measured again"


def test_it_never_sleeps_longer_than_the_poll_interval(
    store: WatchedStore,
    publisher: ScriptedPublisher,
    pauses_of: Callable[..., list[dt.timedelta]],
) -> None:
    config = OutboxRelayConfig(poll_interval=seconds(1))
    relay = OutboxRelay(store=store, publisher=publisher, config=config)
    store_owned(store, a_message())

    assert pauses_of(relay, rounds=1) == [seconds(1)]


def test_it_never_turns_in_circles(
    relay: OutboxRelay,
    store: WatchedStore,
    pauses_of: Callable[..., list[dt.timedelta]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(WatchedStore, "next_due_in", lambda _: dt.timedelta(microseconds=1))

    assert pauses_of(relay, rounds=1) == [dt.timedelta(milliseconds=1)]


def test_in_an_outage_it_sleeps_until_the_next_probe(
    relay: OutboxRelay,
    store: WatchedStore,
    publisher: ScriptedPublisher,
    pauses_of: Callable[..., list[dt.timedelta]],
) -> None:
    store.store([a_message(of=str(n)) for n in range(10)])

    with publisher.always(unavailable()):
        (pause,) = pauses_of(relay, rounds=1)

    assert seconds(0) < pause <= seconds(1)


def test_in_an_outage_with_nothing_to_probe_with_it_sleeps_until_something_is_due(
    store: WatchedStore,
    clock: SettableClock,
    publisher: ScriptedPublisher,
    pauses_of: Callable[..., list[dt.timedelta]],
) -> None:
    now = {"now": 1000.0}
    health = BrokerHealth(monotonic=lambda: now["now"])
    config = OutboxRelayConfig(poll_interval=POLL)
    relay = OutboxRelay(store=store, publisher=publisher, health=health, config=config)
    health.failed("m", BrokerUnavailableError("m", "topic", "refused"))
    now["now"] += health.probe_in.total_seconds()

    assert pauses_of(relay, rounds=1) == [POLL]

    relay = OutboxRelay(store=store, publisher=publisher, health=health, config=config)
    store_owned(store, a_message("owned for half a minute"))
    clock.advance(seconds(10))
    assert pauses_of(relay, rounds=1) == [seconds(20)]


def test_the_thread_survives_errors_of_the_outbox_with_growing_pauses(
    relay: OutboxRelay,
    store: WatchedStore,
    metrics: CountingMetrics,
    pauses_of: Callable[..., list[dt.timedelta]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    store.store([a_message("m1")])
    store.before = failing("claim_pending", times=6)

    pauses = pauses_of(relay, rounds=7)

    for pause, full in zip(pauses[:6], [1, 2, 4, 8, 16, 30], strict=True):
        assert seconds(full / 2) <= pause <= seconds(full)
    assert metrics.count("relay_failed") == 6
    assert status(store, "m1") is OutboxStatus.SENT
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1, "the same outage is not logged again and again"
    assert "the connection was lost" in errors[0].getMessage()


def exits_once(name: str) -> Callable[[str], None]:
    """Let the next call of a method end the process, as sys.exit() somewhere below it would."""
    times = iter([True])

    def before(called: str) -> None:
        if called == name and next(times, False):
            raise SystemExit(1)

    return before


def test_what_would_end_the_thread_in_silence_is_an_error_as_any_other(
    relay: OutboxRelay,
    store: WatchedStore,
    metrics: CountingMetrics,
    pauses_of: Callable[..., list[dt.timedelta]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    store.store([a_message("m1")])
    store.before = exits_once("claim_pending")

    with ThreadPoolExecutor(1) as pool:
        pool.submit(pauses_of, relay, rounds=2).result()

    assert status(store, "m1") is OutboxStatus.SENT
    assert metrics.count("relay_failed") == 1
    assert [record.levelno for record in caplog.records].count(logging.ERROR) == 1


def test_a_signal_handler_that_exits_ends_a_relay_in_the_main_thread(
    relay: OutboxRelay, store: WatchedStore
) -> None:
    store.before = exits_once("claim_pending")

    with pytest.raises(SystemExit):
        relay.run()


def test_a_relay_that_polls_often_is_back_soon_after_its_outbox(
    store: WatchedStore,
    publisher: ScriptedPublisher,
    pauses_of: Callable[..., list[dt.timedelta]],
) -> None:
    config = OutboxRelayConfig(poll_interval=seconds(2))
    relay = OutboxRelay(store=store, publisher=publisher, config=config)
    store.before = failing("claim_pending", times=8)

    pauses = pauses_of(relay, rounds=8)

    assert pauses[0] <= seconds(1)
    assert pauses[2:] == [seconds(2)] * 6


def test_a_bug_is_logged_with_its_traceback_each_time(
    relay: OutboxRelay,
    pauses_of: Callable[..., list[dt.timedelta]],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: WatchedStore, *, batch_size: int, lease: dt.timedelta) -> object:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(WatchedStore, "claim_pending", broken)

    pauses_of(relay, rounds=3)

    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 3
    assert all(record.exc_info for record in errors)


def test_not_even_broken_metrics_end_the_thread(
    relay: OutboxRelay,
    store: WatchedStore,
    pauses_of: Callable[..., list[dt.timedelta]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: CountingMetrics) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(CountingMetrics, "relay_failed", broken)
    store.before = failing("claim_pending", times=2)

    assert len(pauses_of(relay, rounds=3)) == 3


def test_a_call_cuts_the_sleep_short(
    relay: OutboxRelay, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    relay.start()
    eventually(lambda: store.calls)
    store.store([a_message("m1")])

    relay.wake()

    eventually(lambda: status(store, "m1") is OutboxStatus.SENT)
    assert publisher.delivered_ids() == ["m1"]


def test_a_call_does_not_cut_the_pause_after_an_error_short(relay: OutboxRelay) -> None:
    slept: list[float] = []

    def sleep() -> None:
        relay._sleep(seconds(600), may_be_woken=False)
        slept.append(1)

    thread = threading.Thread(target=sleep)
    thread.start()
    for _ in range(50):
        relay.wake()
    thread.join(0.05)
    assert slept == []

    relay.stop()

    thread.join(DEADLINE.total_seconds())
    assert slept


def test_stop_finishes_the_send_in_hand_and_gives_back_the_rest(
    relay: OutboxRelay, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    gate = threading.Event()
    publisher.on("m0", waits_for(gate))
    store.store([a_message(f"m{n}", of=str(n)) for n in range(5)])
    relay.start()
    eventually(lambda: publisher.tried)

    relay.stop()
    gate.set()

    assert relay.shutdown()
    assert publisher.delivered_ids() == ["m0"]
    assert store.calls == [("claim_pending", 10), ("mark_sent", 1), ("release", 4)]
    claims = store.claim_pending(batch_size=10, lease=seconds(60))
    assert [claim.attempts for claim in claims] == [0] * 4


def test_what_could_not_be_written_is_written_before_it_stops(
    relay: OutboxRelay, store: WatchedStore
) -> None:
    store.store([a_message("m1")])
    store.before = failing("mark_sent")
    relay.start()
    eventually(lambda: ("mark_sent", 1) in store.calls)

    assert relay.shutdown()

    assert status(store, "m1") is OutboxStatus.SENT


def test_results_that_are_lost_at_the_end_are_logged(
    relay: OutboxRelay, store: WatchedStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.store([a_message("m1")])
    store.before = failing("mark_sent", times=1000)
    relay.start()
    eventually(lambda: ("mark_sent", 1) in store.calls)

    assert relay.shutdown()

    assert "stops without having written all results" in caplog.text


def interrupts(_: OutboxMessage, __: Callable[[], Receipt]) -> Receipt:
    raise KeyboardInterrupt


def test_ctrl_c_marks_what_was_confirmed_gives_back_the_rest_and_goes_on(
    relay: OutboxRelay, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    store.store([a_message(f"m{number}") for number in range(4)])
    publisher.on("m2", interrupts)

    with pytest.raises(KeyboardInterrupt):
        relay.run_once()

    states = [status(store, f"m{n}") for n in range(4)]
    assert states == [OutboxStatus.SENT] * 2 + [OutboxStatus.PENDING] * 2
    assert relay.run_once().sent == 2
    assert publisher.delivered_ids() == ["m0", "m1", "m2", "m3"]


def test_ctrl_c_while_results_are_written_writes_them_once_more(
    relay: OutboxRelay, store: WatchedStore
) -> None:
    store.store([a_message("m0")])
    times = iter([True])

    def interrupt(name: str) -> None:
        if name == "mark_sent" and next(times, False):
            raise KeyboardInterrupt

    store.before = interrupt

    with pytest.raises(KeyboardInterrupt):
        relay.run_once()

    assert status(store, "m0") is OutboxStatus.SENT


def test_ctrl_c_ends_a_round_whose_results_cannot_be_written(
    relay: OutboxRelay, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    store.store([a_message("m0"), a_message("m1")])
    publisher.on("m1", interrupts)
    store.before = failing("mark_sent")

    with pytest.raises(KeyboardInterrupt):
        relay.run_once()

    assert relay.run_once().sent == 1
    assert publisher.delivered_ids() == ["m0", "m1"]


def test_ctrl_c_ends_a_relay_only_after_all_its_results_are_written(
    relay: OutboxRelay, store: WatchedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.store([a_message("m0")])
    store.before = failing("mark_sent")

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(OutboxRelay, "_sleep", interrupted)

    with pytest.raises(KeyboardInterrupt):
        relay.run()

    assert status(store, "m0") is OutboxStatus.SENT


def test_shutdown_says_so_when_a_publish_hangs(
    relay: OutboxRelay, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    gate = threading.Event()
    publisher.next(waits_for(gate))
    store.store([a_message()])
    relay.start()
    eventually(lambda: publisher.tried)

    assert not relay.shutdown(seconds(0.01))

    gate.set()
    assert relay.shutdown()


def test_shutdown_from_its_own_thread_does_not_wait_for_itself(
    relay: OutboxRelay, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    answers: list[bool] = []

    def shuts_down(_: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        answers.append(relay.shutdown())
        return confirm()

    publisher.next(shuts_down)
    store.store([a_message("m1"), a_message("m2", of="2")])

    relay.run()

    assert answers == [False]
    assert publisher.delivered_ids() == ["m1"]


def test_shutdown_waits_for_a_relay_that_runs_in_its_callers_thread(
    relay: OutboxRelay, store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    gate = threading.Event()
    publisher.next(waits_for(gate))
    store.store([a_message("m1")])
    runner = threading.Thread(target=relay.run)
    runner.start()
    eventually(lambda: publisher.tried)
    assert not relay.shutdown(seconds(0.01))

    gate.set()

    assert relay.shutdown()
    assert status(store, "m1") is OutboxStatus.SENT
    runner.join()


def test_a_second_start_and_a_second_shutdown_do_nothing(relay: OutboxRelay) -> None:
    relay.start()
    thread = relay._thread
    relay.start()
    assert relay._thread is thread

    assert relay.shutdown()
    assert relay.shutdown()


def test_a_start_after_the_shutdown_is_refused(relay: OutboxRelay) -> None:
    relay.shutdown()

    with pytest.raises(RuntimeError, match="was shut down"):
        relay.start()


def test_it_does_not_run_twice_at_once(relay: OutboxRelay, store: WatchedStore) -> None:
    relay.start()
    eventually(lambda: store.calls)

    with pytest.raises(RuntimeError, match="runs already"):
        relay.run()


def test_a_shutdown_right_after_the_start_is_no_error(relay: OutboxRelay) -> None:
    relay.stop()
    with relay._running:  # as shutdown() does for a moment
        runner = threading.Thread(target=relay.run)
        runner.start()
        runner.join(DEADLINE.total_seconds())

    assert not runner.is_alive()


def test_it_is_a_context_manager(store: WatchedStore, publisher: ScriptedPublisher) -> None:
    store.store([a_message("m1")])

    with OutboxRelay(store=store, publisher=publisher) as relay:
        eventually(lambda: publisher.delivered)

    assert relay._thread is not None
    assert not relay._thread.is_alive()


def test_a_lease_that_is_too_short_for_one_call_is_refused_with_the_numbers(
    store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    publisher.longest_call = seconds(58)

    with pytest.raises(ConfigurationError) as caught:
        OutboxRelay(store=store, publisher=publisher)

    assert "outbox.lease = 0:01:00: above 0:01:00" in str(caught.value)
    assert "0:00:58 plus 0:00:02" in str(caught.value)


def test_many_relays_send_each_message_once_and_in_order(
    store: WatchedStore, publisher: ScriptedPublisher
) -> None:
    for number in range(300):
        store.store([a_message(f"{number:03}", of=str(number % 7))])
    relays = [
        OutboxRelay(store=store, publisher=publisher, config=OutboxRelayConfig(batch_size=5))
        for _ in range(4)
    ]

    for relay in relays:
        relay.start()
    eventually(lambda: len(publisher.delivered) >= 300)
    for relay in relays:
        relay.shutdown()

    delivered = publisher.delivered_ids()
    assert sorted(delivered) == [f"{number:03}" for number in range(300)]
    for aggregate in range(7):
        lane = [one for one in delivered if int(one) % 7 == aggregate]
        assert lane == sorted(lane)


def test_it_keeps_house_beside_sending(
    store: WatchedStore,
    publisher: ScriptedPublisher,
    clock: SettableClock,
    metrics: CountingMetrics,
    pauses_of: Callable[..., list[dt.timedelta]],
) -> None:
    relay = OutboxRelay(store=store, publisher=publisher, metrics=metrics)
    store.store([a_message("old")])
    relay.run_once()
    clock.advance(dt.timedelta(days=8))
    store.store([a_message("young", of="2")])

    pauses_of(relay, rounds=1)

    assert store.find("old") is None, "its retention is over"
    assert status(store, "young") is OutboxStatus.SENT
    assert metrics.last_backlog is not None


def test_nothing_is_taken_after_it_was_told_to_stop(
    relay: OutboxRelay, store: WatchedStore
) -> None:
    relay.stop()

    relay.run()

    assert "claim_pending" not in store.names()


def test_claims_are_given_to_one_round_only(relay: OutboxRelay, store: WatchedStore) -> None:
    store.store([a_message(of=str(n)) for n in range(20)])
    claims: list[ClaimedMessage] = store.claim_pending(batch_size=15, lease=seconds(60))

    assert relay.run_once().claimed == 5
    assert len(claims) == 15


def test_a_relay_that_runs_does_no_round_for_somebody_else(
    relay: OutboxRelay, store: WatchedStore
) -> None:
    gate = store.before = Gate("claim_pending")
    relay.start()
    assert gate.is_reached.wait(DEADLINE.total_seconds())

    with pytest.raises(RuntimeError, match="runs already"):
        relay.run_once()
    gate.open()
