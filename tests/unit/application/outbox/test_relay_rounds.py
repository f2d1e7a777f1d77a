"""Batches that are claimed while the one before is being sent."""

import datetime as dt
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import attrs
import pytest

from pragmatic_ddd.application.outbox import BrokerHealth, OutboxRelay, OutboxRelayConfig
from pragmatic_ddd.application.outbox.claim_ahead import ClaimAhead
from pragmatic_ddd.application.outbox.relay_rounds import RelayRounds
from pragmatic_ddd.application.outbox.task import Task
from pragmatic_ddd.errors import BrokerUnavailableError, OutboxStoreError
from pragmatic_ddd.ports import ClaimedMessage, OutboxMessage, OutboxStatus, Receipt
from pragmatic_ddd.testing.clock import SettableClock
from pragmatic_ddd.testing.faults import ScriptedPublisher, unavailable
from pragmatic_ddd.testing.messages import A_MINUTE
from tests.unit.application.outbox.builders import (
    DEADLINE,
    Gate,
    SettlingStore,
    a_message,
    eventually,
    failing,
    seconds,
    sent_by,
    status,
)

_CONFIG = OutboxRelayConfig(batch_size=2, poll_interval=dt.timedelta(minutes=5))
_NAMES = ["m1", "m2", "m3", "m4"]
_SIX = [*_NAMES, "m5", "m6"]


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def store(clock: SettableClock) -> SettlingStore:
    return SettlingStore(clock)


@pytest.fixture
def publisher() -> ScriptedPublisher:
    return ScriptedPublisher(longest_call=seconds(1))


@pytest.fixture
def relay(store: SettlingStore, publisher: ScriptedPublisher) -> Iterator[OutboxRelay]:
    relay = OutboxRelay(store=store, publisher=publisher, config=_CONFIG)
    yield relay
    relay.shutdown()


class Held:
    """A send that does not end before it may."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, _: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        self.has_begun.set()
        assert self.may_end.wait(DEADLINE.total_seconds())
        return confirm()


class ClockOfEachThread(threading.local):
    """What one thread does takes no other one any time."""

    now = 0.0

    def read(self) -> float:
        return self.now


def store_unique(store: SettlingStore, names: Sequence[str] = _NAMES) -> None:
    store.store([a_message(name, of=name) for name in names])


def store_lapsed(store: SettlingStore, clock: SettableClock, *names: str) -> None:
    """Store messages whose holder has died."""
    store.store([a_message(name, of=name) for name in names])
    store.claim_pending(batch_size=len(names), lease=A_MINUTE)
    clock.advance(A_MINUTE)


def claims_of(store: SettlingStore) -> int:
    return store.names().count("claim_pending")


def ahead_of(relay: OutboxRelay) -> Sequence[ClaimAhead]:
    return list(relay._rounds._ahead._claims)


def claimed_ahead(store: SettlingStore, held: Held, names: Sequence[str] = _NAMES) -> None:
    """Wait until all are claimed while the first batch is being sent."""
    assert held.has_begun.wait(DEADLINE.total_seconds())
    eventually(lambda: {status(store, name) for name in names} == {OutboxStatus.PROCESSING})


def test_the_next_batch_is_claimed_while_one_is_being_sent(
    store: SettlingStore, publisher: ScriptedPublisher, relay: OutboxRelay
) -> None:
    store_unique(store)
    held = Held()
    publisher.on("m1", held)

    relay.start()

    claimed_ahead(store, held)
    assert publisher.delivered == []
    held.may_end.set()
    eventually(lambda: status(store, "m4") is OutboxStatus.SENT)
    assert sent_by(publisher) == _NAMES


def test_a_hot_aggregate_is_not_claimed_ahead(
    store: SettlingStore, publisher: ScriptedPublisher, relay: OutboxRelay
) -> None:
    store.store([a_message(name, version=place) for place, name in enumerate(_NAMES, 1)])
    held = Held()
    publisher.on("m2", held)

    relay.start()

    assert held.has_begun.wait(DEADLINE.total_seconds())
    assert claims_of(store) == 1
    held.may_end.set()
    eventually(lambda: status(store, "m4") is OutboxStatus.SENT)
    assert sent_by(publisher) == _NAMES


def test_an_outage_gives_back_what_was_claimed_ahead(
    store: SettlingStore, publisher: ScriptedPublisher, relay: OutboxRelay
) -> None:
    store_unique(store, _SIX)
    held = Held()

    def away(message: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        held(message, confirm)
        return unavailable()(message, confirm)

    publisher.on("m1", away)
    relay.health.monotonic = lambda: 0.0  # no probe is ever due

    relay.start()
    claimed_ahead(store, held, _SIX)
    held.may_end.set()

    eventually(lambda: store.unclaimed([2, 3, 4, 5, 6]) == {2, 3, 4, 5, 6})
    assert [one.message_id for one in publisher.tried] == ["m1"]


def test_an_outage_that_the_eager_path_meets_gives_it_back_too(
    store: SettlingStore, publisher: ScriptedPublisher
) -> None:
    store_unique(store)
    health = BrokerHealth(monotonic=lambda: 0.0)  # no probe is ever due
    relay = OutboxRelay(store=store, publisher=publisher, config=_CONFIG, health=health)
    rounds = relay._rounds
    held = Held()
    publisher.on("m2", held)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(rounds.next)
        claimed_ahead(store, held)
        held.may_end.set()
        assert done.result().sent == 2
    health.failed("of the eager path", BrokerUnavailableError("e", "topic", "refused"))

    assert rounds.next().claimed == 0

    assert sent_by(publisher) == ["m1", "m2"]
    assert store.unclaimed([3, 4]) == {3, 4}


def test_a_relay_that_ends_gives_back_what_it_has_claimed_ahead(
    store: SettlingStore, publisher: ScriptedPublisher, relay: OutboxRelay
) -> None:
    store_unique(store, _SIX)
    held = Held()
    publisher.on("m1", held)
    relay.start()
    claimed_ahead(store, held, _SIX)

    relay.stop()
    held.may_end.set()

    assert relay.shutdown()
    assert sent_by(publisher) == ["m1"]
    assert store.unclaimed([1, 2, 3, 4, 5, 6]) == {2, 3, 4, 5, 6}


def test_a_claim_ahead_that_fails_is_made_again(
    store: SettlingStore, publisher: ScriptedPublisher, relay: OutboxRelay
) -> None:
    store_unique(store)
    held = Held()
    publisher.on("m1", held)

    relay.start()
    assert held.has_begun.wait(DEADLINE.total_seconds())
    eventually(lambda: claims_of(store) >= 2)
    held.may_end.set()
    eventually(lambda: status(store, "m4") is OutboxStatus.SENT)
    store.before = failing("claim_pending", times=2)
    store.store([a_message(f"n{number}", of=f"n{number}") for number in range(4)])
    relay.wake()

    eventually(lambda: status(store, "n3") is OutboxStatus.SENT)
    assert sorted(sent_by(publisher)) == sorted([*_NAMES, "n0", "n1", "n2", "n3"])


def test_after_a_batch_that_took_long_nothing_is_claimed_ahead() -> None:
    ticks = itertools.count(0.0, 3.0)  # each look at the clock finds it three seconds later

    def now() -> float:
        return next(ticks)

    store = SettlingStore(SettableClock(), monotonic=now)
    store.store([a_message(str(number), of=str(number)) for number in range(8)])
    publisher = ScriptedPublisher(longest_call=seconds(1))
    relay = OutboxRelay(store=store, publisher=publisher, config=_CONFIG, monotonic=now)
    held = Held()
    publisher.on("6", held)

    relay.start()

    assert held.has_begun.wait(DEADLINE.total_seconds())
    assert claims_of(store) == 4, "one for each batch, and two of them ahead of the first"
    held.may_end.set()
    assert relay.shutdown()


@pytest.mark.parametrize(("send_takes", "claims"), [(1.9, 5), (2.1, 4)])
def test_beside_batches_that_take_much_longer_than_a_claim_only_one_is_claimed(
    send_takes: float, claims: int
) -> None:
    clock = ClockOfEachThread()

    def claims_for_a_second(name: str) -> None:
        clock.now += float(name == "claim_pending")

    def sends(_: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        clock.now += send_takes
        return confirm()

    store = SettlingStore(SettableClock(), monotonic=clock.read)
    store.store([a_message(str(number), of=str(number)) for number in range(12)])
    store.before = claims_for_a_second
    publisher = ScriptedPublisher(longest_call=seconds(1))
    for number in range(4):
        publisher.on(str(number), sends)
    held = Held()
    publisher.on("4", held)
    config = attrs.evolve(_CONFIG, lease=dt.timedelta(minutes=5))
    relay = OutboxRelay(store=store, publisher=publisher, config=config, monotonic=clock.read)

    relay.start()

    assert held.has_begun.wait(DEADLINE.total_seconds())
    eventually(lambda: not any(one._task and one._task.is_alive() for one in ahead_of(relay)))
    assert claims_of(store) == claims
    held.may_end.set()
    assert relay.shutdown()


def test_what_has_lapsed_is_sent_when_all_marks_are_written(
    store: SettlingStore, publisher: ScriptedPublisher, clock: SettableClock
) -> None:
    store_lapsed(store, clock, "suspect")
    store.store([a_message(name, of=name) for name in ("m1", "m2")])
    clock.advance(-A_MINUTE)  # so that these were due before it
    store.store([a_message(name, of=name) for name in ("m3", "m4")])
    clock.advance(A_MINUTE)
    gate = store.before = Gate("mark_sent")
    marked: list[OutboxStatus] = []
    was_sent = threading.Event()

    def note(_: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        marked.append(status(store, "m3"))
        was_sent.set()
        return confirm()

    publisher.on("suspect", note)
    rounds = OutboxRelay(store=store, publisher=publisher, config=_CONFIG)._rounds
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(rounds.next).result().sent == 2
        assert gate.is_reached.wait(DEADLINE.total_seconds())
        while "suspect" not in [one.message_id for one in publisher.tried]:
            done = pool.submit(rounds.next)
            assert not was_sent.wait(0.1), "it might take the marks of m3 and m4 with it"
            gate.open()
            done.result()

    assert marked == [OutboxStatus.SENT]


def test_nothing_is_claimed_beside_what_has_lapsed(
    store: SettlingStore, publisher: ScriptedPublisher, clock: SettableClock
) -> None:
    store_lapsed(store, clock, *_NAMES)
    held = Held()
    publisher.on("m2", held)
    rounds = OutboxRelay(store=store, publisher=publisher, config=_CONFIG)._rounds
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(rounds.next)
        assert held.has_begun.wait(DEADLINE.total_seconds())
        claims = claims_of(store)
        held.may_end.set()
        assert done.result().sent == 2

    assert claims == claims_of(store) == 2, "the one whose lease has lapsed, and one more"


def test_nothing_is_in_hand_beside_what_has_lapsed(
    store: SettlingStore, publisher: ScriptedPublisher, clock: SettableClock
) -> None:
    store_lapsed(store, clock, "suspect")
    clock.advance(-A_MINUTE)
    store_unique(store, ["m1", "m2"])  # due before it
    clock.advance(A_MINUTE + seconds(1))
    store_unique(store, ["m3", "m4"])
    beside: list[OutboxStatus] = []

    def note(_: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        beside.extend(status(store, name) for name in ("m3", "m4"))
        return confirm()

    publisher.on("suspect", note)
    rounds = OutboxRelay(store=store, publisher=publisher, config=_CONFIG)._rounds
    for _ in range(3):
        rounds.next()

    assert beside == [OutboxStatus.PENDING] * 2, "two claims were under way when it came"
    assert sorted(sent_by(publisher)) == [*_NAMES, "suspect"]


def learnt(relay: OutboxRelay) -> int:
    return relay._rounds._ahead._most


def test_a_batch_that_is_not_full_has_it_claim_less_ahead(
    store: SettlingStore, publisher: ScriptedPublisher
) -> None:
    relay = OutboxRelay(store=store, publisher=publisher, config=_CONFIG)
    assert learnt(relay) == 2
    store_unique(store, ["m1"])

    relay._rounds.next()
    assert learnt(relay) == 1
    relay._rounds.next()
    assert learnt(relay) == 2, "the outbox is empty"


def test_what_comes_alone_says_nothing_of_the_backlog(
    store: SettlingStore, publisher: ScriptedPublisher, clock: SettableClock
) -> None:
    store_lapsed(store, clock, "suspect")
    relay = OutboxRelay(store=store, publisher=publisher, config=_CONFIG)

    assert relay._rounds.next().sent == 1
    assert learnt(relay) == 2


def test_a_claim_ahead_that_fails_leaves_nothing_owned_and_says_nothing_of_the_backlog(
    store: SettlingStore, publisher: ScriptedPublisher
) -> None:
    store_unique(store, _SIX)
    relay = OutboxRelay(store=store, publisher=publisher, config=_CONFIG)
    held = Held()
    publisher.on("m1", held)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(relay._rounds.next)
        assert held.has_begun.wait(DEADLINE.total_seconds())
        eventually(lambda: not any(one._task and one._task.is_alive() for one in ahead_of(relay)))
        held.may_end.set()
        assert done.result().sent == 2
    ahead_of(relay)[0]._error = OutboxStoreError("away")

    with pytest.raises(OutboxStoreError, match="away"):
        relay._rounds.next()

    owned = {3, 4, 5, 6} - store.unclaimed([3, 4, 5, 6])
    assert len(owned) == 2, "of the claim that failed"
    assert learnt(relay) == 2


def test_a_claim_ahead_knows_which_batch_is_being_marked(
    store: SettlingStore, publisher: ScriptedPublisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_unique(store, _SIX)
    rounds = OutboxRelay(store=store, publisher=publisher, config=_CONFIG)._rounds
    tokens: list[str | None] = []
    claim = rounds._claim_pending

    def noting(size: int, confirmed_token: str | None) -> list[ClaimedMessage]:
        tokens.append(confirmed_token)
        return claim(size, confirmed_token)

    monkeypatch.setattr(RelayRounds, "_claim_pending", lambda _, *given: noting(*given))
    rounds._ahead._most = 1
    rounds.next()
    first = rounds.settling.confirmed_token
    rounds.next()
    rounds.next()
    rounds.end()

    assert first is not None
    assert tokens[:3] == [None, None, first]


def test_an_outage_that_begins_while_a_batch_is_claimed_stops_it(
    store: SettlingStore, publisher: ScriptedPublisher
) -> None:
    store_unique(store)
    health = BrokerHealth(monotonic=lambda: 0.0)  # no probe is ever due
    relay = OutboxRelay(store=store, publisher=publisher, config=_CONFIG, health=health)

    def begins(name: str) -> None:
        if name == "claim_pending":
            health.failed("of the eager path", BrokerUnavailableError("e", "topic", "refused"))

    store.before = begins

    for done in (relay._rounds.next(), relay.run_once()):
        assert (done.sent, done.failed) == (0, 0)
    assert publisher.tried == []
    assert store.unclaimed([1, 2, 3, 4]) == {1, 2, 3, 4}


@pytest.mark.parametrize("has_begun", [True, False])
def test_ctrl_c_while_a_claim_ahead_begins_gives_back_that_and_the_batch_in_hand(
    store: SettlingStore, publisher: ScriptedPublisher, *, has_begun: bool
) -> None:
    store_unique(store)
    relay = OutboxRelay(store=store, publisher=publisher, config=_CONFIG)
    threads: list[threading.Thread] = []

    def interrupted(task: Task) -> None:
        threads.append(threading.Thread(target=task.run, name=task.name))
        if has_begun:
            threads[0].start()
            threads[0].join()
        raise KeyboardInterrupt

    relay._rounds._ahead.start = interrupted

    with pytest.raises(KeyboardInterrupt):
        relay.run()
    if not has_begun:
        threads[0].start()
        threads[0].join()

    assert publisher.tried == []
    assert store.unclaimed([1, 2, 3, 4]) == {1, 2, 3, 4}


@attrs.define(eq=False)
class InPairs:
    """Sends two messages at once, or none; and knows which threads have done it."""

    longest_call: dt.timedelta = dt.timedelta(seconds=1)
    side_by_side: int = 2
    sent: list[str] = attrs.field(factory=list)
    threads: set[threading.Thread] = attrs.field(factory=set)
    _pair: threading.Barrier = attrs.field(factory=lambda: threading.Barrier(2))

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        self._pair.wait(DEADLINE.total_seconds())
        self.threads.add(threading.current_thread())
        self.sent.append(message.message_id)
        return Receipt(message.message_id)


def store_pairs(store: SettlingStore, count: int) -> None:
    names = [f"m{number}" for number in range(2 * count)]
    store.store([a_message(name, of=name) for name in names])


def test_it_keeps_its_threads_from_batch_to_batch_and_leaves_none(store: SettlingStore) -> None:
    store_pairs(store, 30)
    publisher = InPairs()
    relay = OutboxRelay(store=store, publisher=publisher, config=_CONFIG)

    relay.start()
    eventually(lambda: len(publisher.sent) == 60)
    relay.shutdown()

    assert len(publisher.threads) <= 1 + 1 + 2 + 1, "its own; one sends, two claim, one writes"
    eventually(lambda: not any(one.is_alive() for one in publisher.threads))


def test_a_single_round_leaves_no_thread(store: SettlingStore) -> None:
    store_pairs(store, 1)
    publisher = InPairs()

    OutboxRelay(store=store, publisher=publisher, config=_CONFIG).run_once()

    (another,) = publisher.threads - {threading.current_thread()}
    eventually(lambda: not another.is_alive())
