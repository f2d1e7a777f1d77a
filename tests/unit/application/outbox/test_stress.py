"""Everything at once, with an outbox and a broker that fail at random; seeded, and bounded."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable

import attrs
import pytest

from pragmatic_ddd.application.outbox import (
    BrokerHealth,
    EagerOutboxPublisher,
    EagerPoolConfig,
    OutboxRelay,
    OutboxRelayConfig,
)
from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventUnconfirmedError,
    OutboxStoreError,
)
from pragmatic_ddd.ports import OutboxMessage, OutboxStatus, Receipt, StoredMessage
from pragmatic_ddd.testing.faults import ScriptedPublisher
from tests.unit.application.outbox.builders import WatchedStore, a_message, eventually, seconds

_AGGREGATES = 12
_WRITERS = 4
_CHANGES = 100


@attrs.define(eq=False)
class Faults:
    """Makes a share of the calls fail, until it is told to end."""

    rng: random.Random
    ended: bool = False
    outage_until: float = 0.0

    def of_the_outbox(self, name: str) -> None:
        if not self.ended and self.rng.random() < 0.08:
            raise OutboxStoreError(f"{name}: the connection was lost")

    def of_the_broker(self, message: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        if self.ended:
            return confirm()
        choice = self.rng.random()
        if choice < 0.002:
            self.outage_until = time.monotonic() + 0.05
        if time.monotonic() < self.outage_until:
            raise BrokerUnavailableError(message.message_id, "topic", "connection refused")
        if choice < 0.02:
            raise EventUnconfirmedError(message.message_id, "topic", "no answer")
        if choice < 0.04:
            raise EventPublishError(message.message_id, "topic", "no disk")
        if choice < 0.05:
            raise ZeroDivisionError
        if choice < 0.06:
            confirm()
            raise EventUnconfirmedError(message.message_id, "topic", "the answer was lost")
        return confirm()


@attrs.define(eq=False)
class Writers:
    """Threads that commit changes of few aggregates, and announce them, sometimes late."""

    eager: EagerOutboxPublisher
    store: WatchedStore
    seed: int
    written: dict[str, list[str]] = attrs.field(factory=lambda: defaultdict(list))
    _locks: list[threading.Lock] = attrs.field(
        factory=lambda: [threading.Lock() for _ in range(_AGGREGATES)]
    )

    def run(self) -> None:
        threads = [threading.Thread(target=self._write, args=(n,)) for n in range(_WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _write(self, writer: int) -> None:
        rng = random.Random(f"{self.seed} {writer}")
        for _ in range(_CHANGES):
            self._change(rng, rng.randrange(_AGGREGATES))
            time.sleep(rng.random() * 0.005)

    def _change(self, rng: random.Random, aggregate: int) -> None:
        count = rng.randint(1, 3)
        reservation = None
        with self._locks[aggregate]:  # as the version check of an aggregate does
            reservation = self.eager.reserve(count)
            if reservation is not None and rng.random() < 0.05:
                self.eager.cancel(reservation)  # rolled back
                return
            lane = self.written[str(aggregate)]
            messages = [
                a_message(f"{aggregate}/{len(lane) + n:06}", of=str(aggregate))
                for n in range(count)
            ]
            stored: list[StoredMessage] = self.store.store(messages, reservation=reservation)
            lane += [message.message_id for message in messages]
        if rng.random() < 0.1:
            time.sleep(0.001)  # announced after a later commit
        self.eager.announce(stored, reservation)


@pytest.mark.parametrize("seed", [1, 2])
def test_after_any_faults_everything_is_sent_in_order_and_nothing_is_held(seed: int) -> None:
    faults = Faults(random.Random(seed))
    store = WatchedStore()
    store.before = faults.of_the_outbox
    publisher = ScriptedPublisher(longest_call=seconds(1), side_by_side=3)
    publisher._always = faults.of_the_broker
    config = OutboxRelayConfig(
        batch_size=50,
        max_attempts=1000,
        poll_interval=seconds(0.2),
        backoff_base=seconds(0.005),
        backoff_cap=seconds(0.05),
        grace=seconds(3.2),
        lease=seconds(3.2),
    )
    health = BrokerHealth()
    relays = [
        OutboxRelay(store=store, publisher=publisher, config=config, health=one)
        for one in (health, BrokerHealth())
    ]
    eager = EagerOutboxPublisher(
        store=store,
        publisher=publisher,
        config=config,
        pool=EagerPoolConfig(workers=4, queue_size=60, shutdown_timeout=seconds(5)),
        health=health,
        wake_relay=relays[0].wake,
    )
    for relay in relays:
        relay.start()

    writers = Writers(eager, store, seed)
    writers.run()
    faults.ended = True

    assert eager.wait_until_idle(seconds(20)), "a lane was lost"
    everything = sorted(one for lane in writers.written.values() for one in lane)
    eventually(
        lambda: store.backlog().pending + store.backlog().processing == 0, within=seconds(60)
    )
    assert eager.shutdown()
    for relay in relays:
        assert relay.shutdown()
    board = eager._board
    assert (
        board._room.held,
        board._sending,
        board._lanes._by_aggregate,
        list(board._lanes._ready),
    ) == (0, 0, {}, [])
    assert board._room._reserved_count == 0
    assert len(everything) > 200, "a story with enough events to tell"
    assert all(_status(store, one) is OutboxStatus.SENT for one in everything)
    _assert_in_order(publisher.delivered_ids(), writers.written)


def _status(store: WatchedStore, message_id: str) -> OutboxStatus | None:
    entry = store.find(message_id)
    return None if entry is None else entry.status


def _assert_in_order(delivered: list[str], written: dict[str, list[str]]) -> None:
    """The first delivery of each message comes in the order of the commits."""
    firsts = list(dict.fromkeys(delivered))
    for aggregate, lane in written.items():
        assert [one for one in firsts if one.startswith(f"{aggregate}/")] == lane
