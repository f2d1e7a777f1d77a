"""The processes of a run: who commits, who relays, who consumes."""

import datetime as dt
import json
import random
import signal
import socket
import time
from collections.abc import Sequence
from pathlib import Path

import attrs

from pragmatic_ddd.errors import AggregateNotFoundError, ConcurrencyError, OutboxStoreError
from pragmatic_ddd_sqlalchemy import SqlAlchemyUnitOfWork, SqlAlchemyUnitsOfWork
from tests.acceptance.faults.equipment import Equipment
from tests.acceptance.faults.failpoints import Failpoints, Trap
from tests.acceptance.faults.shop import Account
from tests.acceptance.faults.stage import Stage


@attrs.frozen(kw_only=True)
class Writer:
    """Commits changes of accounts, one after another, as an application would.

    Attributes:
        stage: Where.
        accounts: Ids; they are taken in turn.
        changes: One transaction each: the troubles of its events.
        eager: Whether the eager path is on.
        waits: Whether it waits for its eager publisher to be idle before it shuts it down.
        spacing_seconds: Pause between two transactions.
        trap: Where it is to die, or to stand still.
    """

    stage: Stage
    accounts: Sequence[str]
    changes: Sequence[Sequence[str]]
    eager: bool = True
    waits: bool = True
    spacing_seconds: float = 0.0
    trap: Trap | None = None

    def __call__(self) -> None:
        failpoints = Failpoints(self.trap)
        equipment = Equipment.of(self.stage, failpoints)
        eager = equipment.eager() if self.eager else None
        units_of_work = equipment.units_of_work(eager)
        for number, troubles in enumerate(self.changes):
            change(units_of_work, self.accounts[number % len(self.accounts)], troubles)
            time.sleep(self.spacing_seconds)
        if eager is not None:
            if self.waits:
                eager.wait_until_idle(dt.timedelta(seconds=30))
            failpoints.fire("shutdown.before")
            eager.shutdown()
            failpoints.fire("shutdown.after")


@attrs.frozen(kw_only=True)
class Relay:
    """Relays until it gets a SIGTERM.

    Attributes:
        stage: Where.
        trap: Where it is to die, or to stand still.
    """

    stage: Stage
    trap: Trap | None = None

    def __call__(self) -> None:
        failpoints = Failpoints(self.trap)
        relay = Equipment.of(self.stage, failpoints).relay()

        def stop(*_: object) -> None:
            failpoints.fire("shutdown.before")
            relay.stop()

        signal.signal(signal.SIGTERM, stop)
        self.stage.diary.ready()
        relay.run()
        failpoints.fire("shutdown.after")


@attrs.frozen(kw_only=True)
class Consumer:
    """Follows the topic and applies each event once, by its id, until it is ended.

    Attributes:
        stage: Where.
        applied: File that gets the number of each event that it applied, by account.
    """

    stage: Stage
    applied: Path

    def __call__(self) -> None:
        seen: set[str] = set()
        address = ("127.0.0.1", self.stage.broker_port)
        with (
            socket.create_connection(address) as connection,
            connection.makefile("rwb") as stream,
            self.applied.open("w", buffering=1) as applied,
        ):
            stream.write(json.dumps({"do": "follow", "topic": self.stage.name}).encode() + b"\n")
            stream.flush()
            for line in stream:
                copy = json.loads(line)
                if copy["event_id"] not in seen:
                    seen.add(copy["event_id"])
                    applied.write(f"{copy['aggregate_id']} {copy['version']} {copy['index']}\n")


def change(units_of_work: SqlAlchemyUnitsOfWork, account: str, troubles: Sequence[str]) -> None:
    """Change one account, again after a lost race."""
    while True:
        try:
            with units_of_work() as work:
                account_of(work, account).move(*troubles)
                work.commit()
        except (ConcurrencyError, OutboxStoreError) as error:
            if not error.retryable:
                raise
            time.sleep(random.uniform(0.0, 0.005))
        else:
            return


def account_of(work: SqlAlchemyUnitOfWork, account_id: str) -> Account:
    """Return that account, a new one if there is none."""
    try:
        return work.get(Account, account_id)
    except AggregateNotFoundError:
        account = Account(id=account_id)
        work.add(account)
        return account
