"""Traffic on a few hot aggregates: writers that push what is born owned, relays, failing sends."""

import datetime as dt
import itertools
import random
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import attrs
import sqlalchemy as sa

from pragmatic_ddd.ports.outbox_message import (
    ClaimedMessage,
    OutboxMessage,
    Reservation,
    StoredMessage,
)
from pragmatic_ddd.testing.messages import a_message, delivered, failed
from pragmatic_ddd_sqlalchemy.store import SqlAlchemyOutboxStore
from tests.databases import OutboxDatabase

_HOT_AGGREGATES = 10
_FAILING_SENDS = 0.05
# Longer than any stall of a busy machine: whoever is out of its lease may be overtaken.
_GRACE = dt.timedelta(seconds=60)
_LEASE = dt.timedelta(seconds=60)
_PAUSES_OF_A_SEND = (0, 0, 0.001, 0.003)
_PAUSES_BETWEEN_CLAIMS = (0, 0.005, 0.02)
_LONGEST_RUN_SECONDS = 90


@attrs.define
class Broker:
    """Takes messages, refuses some, and knows what came too early or twice."""

    doubled: int = 0
    overtaken: int = 0
    taken: int = 0
    _seen: defaultdict[str, set[int]] = attrs.field(factory=lambda: defaultdict(set))
    _lock: threading.Lock = attrs.field(factory=threading.Lock)

    def takes(self, message: OutboxMessage, chance: random.Random) -> bool:
        time.sleep(chance.choice(_PAUSES_OF_A_SEND))
        if chance.random() < _FAILING_SENDS:
            return False
        place = int(message.headers["place"])
        with self._lock:
            seen = self._seen[message.aggregate_id]
            self.doubled += place in seen
            self.overtaken += any(older not in seen for older in range(1, place))
            self.taken += place not in seen
            seen.add(place)
        return True


@attrs.define
class Traffic:
    """Runs writers and relays until ``events`` are stored, and all of them sent."""

    database: OutboxDatabase
    events: int
    store: SqlAlchemyOutboxStore = attrs.field(init=False)
    broker: Broker = attrs.field(factory=Broker)
    stored: int = 0
    born_owned: int = 0
    lost_leases: int = 0
    _aggregates: sa.Table = attrs.field(init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock)
    _end: float = attrs.field(factory=lambda: time.monotonic() + _LONGEST_RUN_SECONDS)

    def __attrs_post_init__(self) -> None:
        self.store = self.database.store()
        self._aggregates = sa.Table(
            f"{self.database.table.name}_aggregates",
            self.database.table.metadata,
            sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("version", sa.Integer, nullable=False),
            mysql_engine="InnoDB",
            mariadb_engine="InnoDB",
        )
        self._aggregates.create(self.database.engine)
        with self.database.engine.begin() as connection:
            connection.execute(
                self._aggregates.insert(),
                [{"id": key, "version": 0} for key in range(_HOT_AGGREGATES)],
            )

    def run(self, *, writers: int, relays: int) -> None:
        work: list[Callable[[random.Random], None]] = [self._write] * writers
        work += [self._relay] * relays
        with ThreadPoolExecutor(len(work)) as pool:
            futures = [pool.submit(each, random.Random(n)) for n, each in enumerate(work)]
            for future in futures:
                future.result()

    def _write(self, chance: random.Random) -> None:
        while self.stored < self.events and time.monotonic() < self._end:
            stored = self._commit(chance)
            owned = [each.claim for each in stored if each.claim is not None]
            with self._lock:
                self.stored += len(stored)
                self.born_owned += len(owned)
            self._deliver(owned, chance)
            self._push_the_rest([each.id for each in stored if each.claim is None], chance)

    def _commit(self, chance: random.Random) -> list[StoredMessage]:
        key, number = chance.randrange(_HOT_AGGREGATES), chance.choice((1, 1, 2))
        aggregates = self._aggregates
        reservation = Reservation(claim_token=secrets.token_hex(16), grace=_GRACE)
        with self.database.engine.begin() as connection:
            connection.execute(
                aggregates.update()
                .where(aggregates.c.id == key)
                .values(version=aggregates.c.version + number)
            )
            version = connection.execute(
                sa.select(aggregates.c.version).where(aggregates.c.id == key)
            ).scalar_one()
            messages = [
                a_message(of=str(key), version=version, headers={"place": str(place)})
                for place in range(version - number + 1, version + 1)
            ]
            stored = self.store.store_in(connection, messages, reservation)
            time.sleep(chance.choice((0, 0, 0.002)))
        return stored

    def _push_the_rest(self, ids: list[int], chance: random.Random) -> None:
        for pause in _PAUSES_BETWEEN_CLAIMS:
            if not ids:
                return
            time.sleep(pause)
            claimed = self.store.claim(ids, lease=_LEASE)
            self._deliver(claimed, chance)
            ids = [each for each in ids if each not in {one.id for one in claimed}]

    def _relay(self, chance: random.Random) -> None:
        for tick in itertools.count():
            claimed = self.store.claim_pending(batch_size=50, lease=_LEASE)
            self._deliver(claimed, chance)
            if claimed:
                continue
            is_over = self.stored >= self.events and self.broker.taken >= self.stored
            if is_over or time.monotonic() > self._end:
                return
            if tick % 20 == 0:
                self.store.tidy()
            time.sleep(0.005)

    def _deliver(self, claimed: Sequence[ClaimedMessage], chance: random.Random) -> None:
        sent: list[ClaimedMessage] = []
        lost: list[ClaimedMessage] = []
        untried: list[ClaimedMessage] = []
        broken: set[str] = set()
        for each in sorted(claimed, key=lambda one: one.id):
            lane = each.message.aggregate_id
            if lane in broken or time.monotonic() > each.deadline - 0.05:
                broken.add(lane)
                untried.append(each)
            elif self.broker.takes(each.message, chance):
                sent.append(each)
            else:
                broken.add(lane)
                lost.append(each)
        settled = self.store.mark_sent(delivered(*sent))
        settled += self.store.retry_later(failed(*lost, retry_in=dt.timedelta(milliseconds=30)))
        settled += self.store.release(untried)
        with self._lock:
            self.lost_leases += len(claimed) - settled
