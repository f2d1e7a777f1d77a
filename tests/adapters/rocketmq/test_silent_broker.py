"""A broker that takes everything and never answers: bounded calls, and no attempt lost."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pragmatic_ddd.application.outbox import BrokerHealth, OutboxRelay, OutboxRelayConfig
from pragmatic_ddd.errors import BrokerUnavailableError, EventUnconfirmedError
from pragmatic_ddd.ports import OutboxStatus
from pragmatic_ddd_rocketmq import RocketMqEventManager
from tests.adapters.rocketmq.shop import a_stored_event, an_event_manager
from tests.adapters.rocketmq.stand_in import silent_broker
from tests.databases import outbox_database, sqlite_engine
from tests.unit.application.outbox.builders import seconds

pytestmark = pytest.mark.service("rocketmq")  # whose native client these need

_TIMEOUT = seconds(0.5)
_TOLERANCE = seconds(1)


@pytest.fixture
def manager() -> Iterator[RocketMqEventManager]:
    with (
        silent_broker() as name_server,
        an_event_manager("events", name_server=name_server, send_msg_timeout=_TIMEOUT) as manager,
    ):
        yield manager


def test_each_of_many_threads_gets_its_answer_within_the_longest_call(
    manager: RocketMqEventManager,
) -> None:
    def send(number: int) -> float:
        begun = time.monotonic()
        with pytest.raises((EventUnconfirmedError, BrokerUnavailableError)):
            manager.publish_stored(a_stored_event(aggregate_id=str(number)))
        return time.monotonic() - begun

    send(0)
    with ThreadPoolExecutor(16) as pool:
        longest = max(pool.map(send, range(16)))

    assert longest <= (manager.longest_call + _TOLERANCE).total_seconds()


def test_a_shutdown_beside_a_send_that_hangs_is_bounded(manager: RocketMqEventManager) -> None:
    def send() -> None:
        with pytest.raises(EventUnconfirmedError):
            manager.publish_stored(a_stored_event())

    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(send)
        producer = manager._producer
        assert producer is not None
        deadline = time.monotonic() + 5
        while not producer._in_flight and time.monotonic() < deadline:
            time.sleep(0.001)
        begun = time.monotonic()
        manager.shutdown()
        assert time.monotonic() - begun < 10
        sending.result(5)

    with pytest.raises(BrokerUnavailableError, match="shut down"):
        manager.publish_stored(a_stored_event())


def test_a_relay_takes_the_silence_for_an_outage(
    manager: RocketMqEventManager, tmp_path: Path
) -> None:
    with outbox_database(sqlite_engine(tmp_path)) as database:
        store = database.store()
        stored = [a_stored_event(aggregate_id=str(number)) for number in range(20)]
        store.store(stored)
        health = BrokerHealth()
        config = OutboxRelayConfig(max_attempts=1)
        relay = OutboxRelay(store=store, publisher=manager, health=health, config=config)

        done = relay.run_once()

        assert health.is_away
        assert (done.sent, done.dead, done.claimed) == (0, 0, 20)
        for message in stored:
            entry = store.find(message.message_id)
            assert entry is not None
            assert (entry.status, entry.attempts) == (OutboxStatus.PENDING, 0)
