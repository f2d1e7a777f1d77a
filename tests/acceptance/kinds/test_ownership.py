"""Who may send a row, and who may say what became of it."""

import datetime as dt
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from pragmatic_ddd.application.outbox import (
    EagerOutboxPublisher,
    OutboxRelay,
    OutboxRelayConfig,
)
from pragmatic_ddd.ports import OutboxMessage, OutboxStatus, PublishPath, Receipt
from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.outbox_message import OutboxEntry
from pragmatic_ddd.testing.faults import (
    ScriptedPublisher,
    Step,
    confirms,
    fails,
    takes,
    waits_for,
)
from pragmatic_ddd.testing.messages import a_message, delivered
from pragmatic_ddd_local import CountingMetrics
from tests.acceptance.kinds.virtual_time import VirtualTime
from tests.databases import OutboxDatabase
from tests.unit.application.outbox.builders import DEADLINE, eventually, push, seconds

CONFIG = OutboxRelayConfig(lease=seconds(60), grace=seconds(60), batch_size=50)
A_SECOND = seconds(1)


def _relay(
    store: IOutboxStore,
    publisher: ScriptedPublisher,
    metrics: CountingMetrics,
    time: VirtualTime,
) -> OutboxRelay:
    return OutboxRelay(
        store=store,
        publisher=publisher,
        config=CONFIG,
        metrics=metrics,
        monotonic=time.monotonic,
    )


def _row(store: IOutboxStore, message_id: str) -> OutboxEntry:
    entry = store.find(message_id)
    assert entry is not None
    return entry


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Shut until a test opens it; a test that fails keeps no thread waiting."""
    gate = threading.Event()
    yield gate
    gate.set()


def test_a_relay_leaves_alone_what_the_eager_publisher_is_sending(
    virtual: VirtualTime, gate: threading.Event
) -> None:
    store, metrics = virtual.store(), CountingMetrics()
    publisher = ScriptedPublisher(longest_call=A_SECOND)
    publisher.next(waits_for(gate))
    eager = EagerOutboxPublisher(
        store=store, publisher=publisher, config=CONFIG, monotonic=virtual.monotonic
    )
    relay = _relay(store, publisher, metrics, virtual)
    with eager:
        push(eager, a_message("m1"))
        eventually(lambda: publisher.tried)
        virtual.pass_time(CONFIG.grace - seconds(20))

        assert [relay.run_once().claimed for _ in range(5)] == [0] * 5

        gate.set()
        assert eager.wait_until_idle(DEADLINE)
    assert _row(store, "m1").status is OutboxStatus.SENT
    assert [message.message_id for message in publisher.tried] == ["m1"]


def test_a_relay_that_took_over_from_a_hung_eager_publisher_has_the_last_word(
    virtual: VirtualTime, gate: threading.Event
) -> None:
    store, metrics = virtual.store(), CountingMetrics()
    publisher = ScriptedPublisher(longest_call=A_SECOND)
    publisher.next(waits_for(gate))
    eager = EagerOutboxPublisher(
        store=store,
        publisher=publisher,
        config=CONFIG,
        metrics=metrics,
        monotonic=virtual.monotonic,
    )
    relay = _relay(store, publisher, metrics, virtual)
    with eager:
        push(eager, a_message("m1"))
        eventually(lambda: publisher.tried)
        virtual.pass_time(CONFIG.grace)

        assert relay.run_once().sent == 1
        settled = _row(store, "m1")

        gate.set()
        assert eager.wait_until_idle(DEADLINE)
    assert (settled.status, settled.attempts) == (OutboxStatus.SENT, 1)
    assert _row(store, "m1") == settled
    assert metrics.count("published") == metrics.count("published", path=PublishPath.RELAY) == 1
    assert metrics.count("lease_lost", path=PublishPath.EAGER) == 1


@pytest.mark.parametrize("late", ["confirms", "fails", "releases"])
def test_who_comes_back_after_its_lease_changes_nothing(
    virtual: VirtualTime, gate: threading.Event, late: str
) -> None:
    store, metrics = virtual.store(), CountingMetrics()
    slow, fast = (ScriptedPublisher(longest_call=A_SECOND) for _ in range(2))
    late_step: Step = fails("at last") if late == "fails" else confirms
    slow.on("m1", _after(gate, late_step))
    stored = [a_message("m1")] if late != "releases" else [a_message("m1"), a_message("m2")]
    store.store(stored)
    relay_a = _relay(store, slow, metrics, virtual)
    relay_b = _relay(store, fast, CountingMetrics(), virtual)
    with ThreadPoolExecutor(1) as pool:
        late_round = pool.submit(relay_a.run_once)
        eventually(lambda: slow.tried)
        virtual.pass_time(CONFIG.lease + A_SECOND)
        while relay_b.run_once().sent:
            pass
        before = [_row(store, one.message_id) for one in stored]

        gate.set()
        lost = late_round.result(DEADLINE.total_seconds()).lost

    assert [_row(store, one.message_id) for one in stored] == before
    assert {one.status for one in before} == {OutboxStatus.SENT}
    assert lost == len(stored) == metrics.count("lease_lost", path=PublishPath.RELAY)
    assert [message.message_id for message in slow.tried] == ["m1"]  # m2 was out of its lease


def _after(gate: threading.Event, step: Step) -> Step:
    def waiting(message: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        assert gate.wait(30)
        return step(message, confirm)

    return waiting


def test_a_row_is_either_settled_by_its_late_owner_or_taken_over(database: OutboxDatabase) -> None:
    store = database.store()
    rows = 60
    store.store([a_message(of=str(number)) for number in range(rows)])
    late = store.claim_pending(batch_size=rows, lease=seconds(10))
    database.pass_time(seconds(11))
    begin = threading.Barrier(2)

    def settle() -> set[int]:
        begin.wait()
        return {one.id for one in late if store.mark_sent(delivered(one))}

    def take_over() -> set[int]:
        begin.wait()
        taken: set[int] = set()
        while batch := store.claim_pending(batch_size=rows, lease=seconds(10)):
            taken |= {one.id for one in batch}
        return taken

    with ThreadPoolExecutor(2) as pool:
        settling, taking = pool.submit(settle), pool.submit(take_over)
        settled, taken = settling.result(), taking.result()
    taken |= {one.id for one in store.claim_pending(batch_size=rows, lease=seconds(10))}

    assert not settled & taken
    assert store.backlog().processing == len(taken)
    while batch := store.claim_pending(batch_size=rows, lease=seconds(10)):
        taken |= {one.id for one in batch}
    assert settled | taken == {one.id for one in late}


def test_nothing_is_sent_twice_because_it_stands_late_in_a_slow_batch(
    virtual: VirtualTime,
) -> None:
    """50 sends of 200 ms under a lease of 5 s, while another relay looks for work after each."""
    store = virtual.store()
    config = OutboxRelayConfig(lease=seconds(5), grace=seconds(5), batch_size=50)
    slow, other = (ScriptedPublisher(longest_call=A_SECOND) for _ in range(2))
    relays = [
        OutboxRelay(store=store, publisher=one, config=config, monotonic=virtual.monotonic)
        for one in (slow, other)
    ]
    stored = [a_message(of=str(number)) for number in range(50)]
    store.store(stored)

    def pass_time(duration: dt.timedelta) -> None:
        virtual.pass_time(duration)
        relays[1].run_once()

    with slow.always(takes(seconds(0.2), pass_time)):
        first = relays[0].run_once()
        while relays[0].run_once().claimed:
            pass

    assert 0 < first.sent < 50
    assert first.untried == 50 - first.sent
    sent = slow.delivered_ids() + other.delivered_ids()
    assert sorted(sent) == sorted(one.message_id for one in stored)
    assert store.backlog().pending == store.backlog().processing == 0
