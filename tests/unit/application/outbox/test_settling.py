"""Results written beside the next claim: when that is done, and what holds when it fails."""

import datetime as dt
import threading
from collections.abc import Iterator

import pytest

from pragmatic_ddd.application.outbox import OutboxRelay, OutboxRelayConfig
from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.application.outbox.settling import Settling
from pragmatic_ddd.application.outbox.task import Task, start_task
from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd.ports import ClaimedMessage, OutboxStatus, PublishPath
from pragmatic_ddd.testing.clock import SettableClock
from pragmatic_ddd.testing.faults import ScriptedPublisher, fails
from pragmatic_ddd.testing.messages import A_MINUTE, delivered, failed
from pragmatic_ddd_local import CountingMetrics
from tests.unit.application.outbox.builders import (
    DEADLINE,
    Gate,
    SettlingStore,
    a_message,
    ctrl_c_at_wait,
    eventually,
    failing,
    seconds,
    sent_by,
    status,
)


@pytest.fixture
def store() -> SettlingStore:
    return SettlingStore(SettableClock())


@pytest.fixture
def settling(store: SettlingStore) -> Settling:
    return Settling(store, CountingMetrics(), PublishPath.RELAY)


@pytest.fixture
def publisher() -> ScriptedPublisher:
    return ScriptedPublisher(longest_call=seconds(1))


@pytest.fixture
def relay(store: SettlingStore, publisher: ScriptedPublisher) -> Iterator[OutboxRelay]:
    config = OutboxRelayConfig(batch_size=2, poll_interval=dt.timedelta(minutes=5))
    relay = OutboxRelay(store=store, publisher=publisher, config=config)
    yield relay
    relay.shutdown()


def confirmed(claimed: list[ClaimedMessage]) -> Settlement:
    outcome = Settlement()
    outcome.sent += delivered(*claimed)
    return outcome


def claim(store: SettlingStore, batch_size: int) -> list[ClaimedMessage]:
    return store.claim_pending(batch_size=batch_size, lease=A_MINUTE)


def test_what_is_confirmed_is_written_while_others_claim_its_successors(
    store: SettlingStore, settling: Settling
) -> None:
    store.store([a_message("m1"), a_message("m2", version=2)])
    gate = store.before = Gate("mark_sent")
    first = claim(store, 1)

    settling.write_beside(confirmed(first))

    assert gate.is_reached.wait(DEADLINE.total_seconds())
    (second,) = store.claim_pending(
        batch_size=1, lease=A_MINUTE, confirmed_token=settling.confirmed_token
    )
    gate.open()
    settling.finish()
    assert second.message.message_id == "m2"
    assert status(store, "m1") is OutboxStatus.SENT
    assert settling.confirmed_token is None


def test_a_batch_with_a_failure_is_written_before_anything_else(
    store: SettlingStore, settling: Settling
) -> None:
    store.store([a_message("m1", of="a"), a_message("m2", of="b")])
    first, second = claim(store, 2)
    outcome = confirmed([first])
    outcome.failed += failed(second)

    settling.write_beside(outcome)

    assert settling.confirmed_token is None
    assert status(store, "m1") is OutboxStatus.SENT
    assert status(store, "m2") is OutboxStatus.PENDING


def test_what_could_not_be_written_beside_is_written_before_the_next(
    store: SettlingStore, settling: Settling
) -> None:
    store.store([a_message("m1", of="a"), a_message("m2", of="b")])
    first, second = claim(store, 1), claim(store, 1)
    store.before = failing("mark_sent")

    settling.write_beside(confirmed(first))
    settling.write_beside(confirmed(second))
    settling.finish()

    assert status(store, "m1") is OutboxStatus.SENT
    assert status(store, "m2") is OutboxStatus.SENT
    assert not settling.left


def test_while_the_outbox_is_away_nothing_is_forgotten(
    store: SettlingStore, settling: Settling
) -> None:
    store.store([a_message("m1", of="a"), a_message("m2", of="b")])
    first, second = claim(store, 1), claim(store, 1)
    store.before = failing("mark_sent", times=3)

    settling.write_beside(confirmed(first))
    with pytest.raises(OutboxStoreError):
        settling.write_beside(confirmed(second))
    with pytest.raises(OutboxStoreError):
        settling.finish()

    settling.finish()
    assert status(store, "m1") is OutboxStatus.SENT
    assert status(store, "m2") is OutboxStatus.SENT


def test_ctrl_c_beside_a_mark_that_fails_forgets_neither(
    store: SettlingStore, settling: Settling
) -> None:
    store.store([a_message("m1", of="a"), a_message("m2", of="b")])
    first, second = claim(store, 1), claim(store, 1)
    gate, fails_once = Gate("mark_sent"), failing("mark_sent")

    def before(name: str) -> None:
        gate(name)
        fails_once(name)

    store.before = before
    settling.write_beside(confirmed(first))
    assert gate.is_reached.wait(DEADLINE.total_seconds())
    with ctrl_c_at_wait():
        settling.write_beside(confirmed(second))
    gate.open()

    settling.finish()
    assert status(store, "m1") is OutboxStatus.SENT
    assert status(store, "m2") is OutboxStatus.SENT


@pytest.mark.parametrize("has_begun", [True, False])
def test_ctrl_c_while_it_is_handed_over_has_it_written_once(
    store: SettlingStore, settling: Settling, *, has_begun: bool
) -> None:
    gate = store.before = Gate("mark_sent")
    late: list[Task] = []

    def interrupted(task: Task) -> None:
        if has_begun:
            start_task(task)
            assert gate.is_reached.wait(DEADLINE.total_seconds())
        late.append(task)
        raise KeyboardInterrupt

    store.store([a_message("m1")])
    settling.start = interrupted
    with pytest.raises(KeyboardInterrupt):
        settling.write_beside(confirmed(claim(store, 1)))
    gate.open()
    settling.finish()
    if not has_begun:
        late[0].run()

    assert status(store, "m1") is OutboxStatus.SENT
    assert store.names().count("mark_sent") == 1


def test_without_threads_to_be_had_it_is_written_at_once(
    store: SettlingStore, settling: Settling, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    store.store([a_message("m1")])
    monkeypatch.setattr(threading.Thread, "start", no_thread)

    settling.write_beside(confirmed(claim(store, 1)))

    assert status(store, "m1") is OutboxStatus.SENT
    assert settling.confirmed_token is None


def test_the_relay_sends_an_aggregate_on_while_its_batch_is_being_written(
    store: SettlingStore, publisher: ScriptedPublisher, relay: OutboxRelay
) -> None:
    store.store([a_message(f"m{number}", version=number) for number in range(1, 7)])
    gate = store.before = Gate("mark_sent")

    relay.start()

    assert gate.is_reached.wait(DEADLINE.total_seconds())
    eventually(lambda: len(publisher.delivered) == 4)
    gate.open()
    eventually(lambda: len(publisher.delivered) == 6)
    assert relay.shutdown()
    assert sent_by(publisher) == [f"m{number}" for number in range(1, 7)]
    assert {status(store, f"m{number}") for number in range(1, 7)} == {OutboxStatus.SENT}


def test_the_relay_takes_nothing_from_behind_a_failure_that_is_not_yet_written(
    store: SettlingStore, publisher: ScriptedPublisher, relay: OutboxRelay
) -> None:
    store.store([a_message(f"m{number}", version=number) for number in range(1, 5)])
    publisher.on("m2", fails())
    store.before = failing("retry_later")

    relay.start()

    eventually(lambda: "retry_later" in store.names())
    eventually(lambda: store.names().count("retry_later") == 2)
    assert relay.shutdown()
    assert sent_by(publisher) == ["m1"]


def test_what_is_being_written_when_the_relay_ends_is_waited_for(
    store: SettlingStore, relay: OutboxRelay
) -> None:
    store.store([a_message("m1")])
    gate = store.before = Gate("mark_sent")
    relay.start()
    assert gate.is_reached.wait(DEADLINE.total_seconds())
    relay.stop()

    assert not relay.shutdown(timeout=seconds(0.05))
    gate.open()

    assert relay.shutdown()
    assert status(store, "m1") is OutboxStatus.SENT
