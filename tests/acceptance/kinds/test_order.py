"""Nothing is overtaken within an aggregate, and nothing that appears late is missed."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pragmatic_ddd.application.outbox import OutboxRelay, OutboxRelayConfig
from pragmatic_ddd.testing.faults import ScriptedPublisher, Step, fails, rejects
from pragmatic_ddd.testing.messages import A_MINUTE, a_message
from tests.acceptance.kinds.virtual_time import VirtualTime
from tests.databases import OutboxDatabase
from tests.unit.application.outbox.builders import seconds

_V = [f"v{number}" for number in range(1, 6)]
_W = [f"w{number}" for number in range(1, 6)]
_COMMITS = 400  # each waits for the disk
_LONGEST_RUN_SECONDS = 60.0


def _relay(virtual: VirtualTime, publisher: ScriptedPublisher) -> OutboxRelay:
    config = OutboxRelayConfig(batch_size=200, backoff_base=A_MINUTE)
    return OutboxRelay(
        store=virtual.store(), publisher=publisher, config=config, monotonic=virtual.monotonic
    )


def _drain(relay: OutboxRelay) -> None:
    while relay.run_once().claimed:
        pass


@pytest.mark.parametrize("step", [fails(), rejects()], ids=["once", "for good"])
def test_a_failed_event_holds_up_its_own_aggregate_and_no_other(
    virtual: VirtualTime, step: Step
) -> None:
    publisher = ScriptedPublisher(side_by_side=4)
    publisher.on("v1", step)
    relay = _relay(virtual, publisher)
    relay.store.store(
        [a_message(name, of="a") for name in _V] + [a_message(name, of="b") for name in _W]
    )

    _drain(relay)

    assert publisher.delivered_ids() == _W
    if relay.store.backlog().failed:  # the rule: a dead letter stops its aggregate
        virtual.pass_time(seconds(3600))
        relay.store.tidy()
        _drain(relay)
        assert publisher.delivered_ids() == _W
        relay.store.replay(["v1"])
    virtual.pass_time(A_MINUTE)
    _drain(relay)
    assert publisher.delivered_ids() == _W + _V


def test_two_relays_send_the_commits_of_one_aggregate_in_order(
    database: OutboxDatabase,
) -> None:
    """Every seventh send fails once."""
    store = database.store()
    publisher = ScriptedPublisher()
    names = [f"m{number}" for number in range(_COMMITS)]
    for name in names[::7]:
        publisher.on(name, fails())
    config = OutboxRelayConfig(
        batch_size=50, backoff_base=seconds(0.001), backoff_cap=seconds(0.001)
    )
    end = time.monotonic() + _LONGEST_RUN_SECONDS
    stored = threading.Event()

    def relay() -> None:
        one = OutboxRelay(store=store, publisher=publisher, config=config)
        while time.monotonic() < end:
            one.run_once()
            if stored.is_set() and len(publisher.delivered) >= len(names):
                return

    with ThreadPoolExecutor(2) as pool:
        relays = [pool.submit(relay) for _ in range(2)]
        for version, name in enumerate(names, 1):
            store.store([a_message(name, of="hot", version=version)])
        stored.set()
        for one in relays:
            one.result()

    assert publisher.delivered_ids() == names


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_a_row_that_appears_behind_a_higher_id_is_sent_and_a_gap_stalls_nothing(
    server: OutboxDatabase, ends: str
) -> None:
    virtual = VirtualTime(server)
    publisher = ScriptedPublisher()
    relay = _relay(virtual, publisher)
    store = virtual.store()
    with server.engine.connect() as slow:
        transaction = slow.begin()
        (first,) = store.store_in(slow, [a_message("slow", of="1")])
        (second,) = store.store([a_message("fast", of="2")])
        assert first.id < second.id

        _drain(relay)
        assert publisher.delivered_ids() == ["fast"]

        transaction.commit() if ends == "commit" else transaction.rollback()
    store.store([a_message("last", of="3")])
    _drain(relay)

    expected = ["fast", "slow", "last"] if ends == "commit" else ["fast", "last"]
    assert publisher.delivered_ids() == expected
