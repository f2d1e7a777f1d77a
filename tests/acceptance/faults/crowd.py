"""The processes of a crowd: writers that race for the same accounts, relays that start at once."""

import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import sqlalchemy as sa

from pragmatic_ddd.errors import ConcurrencyError, OutboxStoreError
from pragmatic_ddd_sqlalchemy import SqlAlchemyUnitOfWork, SqlAlchemyUnitsOfWork
from tests.acceptance.faults.children import wait_for
from tests.acceptance.faults.equipment import Equipment
from tests.acceptance.faults.shop import Account
from tests.acceptance.faults.stage import Stage

_EVENTS_OF_A_CHANGE = (1, 1, 1, 2, 3)
_PATIENCE_SECONDS = 60.0


@attrs.define(eq=False)
class Rival:
    """Commits changes against others, again after a lost race; an error is noted as such.

    Losing the race for an account is a writer's lot. A deadlock, a timeout or whatever else the
    database refuses reaches the caller of ``commit`` as an ``OutboxStoreError``: that is none.

    Attributes:
        equipment: Of its process.
        units_of_work: Where it commits.
        locks: Whether it locks an account that it changes, after it has read another one: at
            REPEATABLE READ, what it sees is then older than its lock.
        lost_races: How often somebody else was faster.
    """

    equipment: Equipment
    units_of_work: SqlAlchemyUnitsOfWork
    locks: bool = False
    lost_races: int = attrs.field(default=0, init=False)

    def change(self, account_id: str, events: int) -> None:
        while True:
            try:
                with self.units_of_work() as work:
                    self._account(work, account_id).move(*([""] * events))
                    work.commit()
            except ConcurrencyError:
                self.lost_races += 1
                time.sleep(random.uniform(0.0, 0.005))
            except OutboxStoreError as error:
                self.equipment.stage.diary.error(f"commit: {error}")
                if not error.retryable:
                    raise
            else:
                return

    def _account(self, work: SqlAlchemyUnitOfWork, account_id: str) -> Account:
        if self.locks:
            work.session.scalars(sa.select(Account).limit(1)).one()
        account = work.session.get(Account, account_id, with_for_update=self.locks)
        if account is None:
            account = Account(id=account_id)
            work.add(account)
        return account


@attrs.frozen(kw_only=True)
class CrowdWriter:
    """Commits its share of the events, half on hot accounts and half on unique ones.

    Attributes:
        stage: Where.
        number: Which of the writers it is, from 0.
        events: Its share.
        hot: Accounts that all writers change.
        eager: Whether it pushes what it has committed.
        locks: Whether it locks the accounts that it changes.
        isolation_level: Of its transactions; ``None`` for the database's default.
    """

    stage: Stage
    number: int
    events: int
    hot: Sequence[str]
    eager: bool
    locks: bool
    isolation_level: str | None = None

    def __call__(self) -> None:
        chance = random.Random(self.number)
        options: dict[str, Any] = {}
        if self.isolation_level is not None:
            options["isolation_level"] = self.isolation_level
        equipment = Equipment.of(self.stage, **options)
        eager = equipment.eager() if self.eager else None
        rival = Rival(equipment, equipment.units_of_work(eager), locks=self.locks)
        left, changes = self.events, 0
        while left:
            events = min(left, chance.choice(_EVENTS_OF_A_CHANGE))
            unique = f"unique-{self.number}-{changes}"
            rival.change(chance.choice(self.hot) if chance.random() < 0.5 else unique, events)
            left -= events
            changes += 1
        if eager is not None:
            eager.shutdown()
        self.stage.diary.counted(lost_races=rival.lost_races)


@attrs.frozen(kw_only=True)
class HeldRelay:
    """Connects, waits until a gate file is there, and relays until it gets a SIGTERM.

    Attributes:
        stage: Where.
        gate: The file.
    """

    stage: Stage
    gate: Path

    def __call__(self) -> None:
        equipment = Equipment.of(self.stage)
        relay = equipment.relay()
        signal.signal(signal.SIGTERM, lambda *_: relay.stop())
        equipment.store.backlog()
        self.stage.diary.ready()
        wait_for(self.gate.exists, _PATIENCE_SECONDS, "the gate to open")
        relay.run()
