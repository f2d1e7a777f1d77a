"""An application that goes on while its database comes and goes."""

import datetime as dt
import itertools
import random
import signal
import time
from collections.abc import Sequence

import attrs

from pragmatic_ddd.errors import ConcurrencyError, OutboxStoreError
from pragmatic_ddd_sqlalchemy import SqlAlchemyUnitsOfWork
from tests.acceptance.faults.actors import account_of
from tests.acceptance.faults.equipment import Equipment
from tests.acceptance.faults.stage import Stage

_EVENTS = 2
_PAUSE_SECONDS = 0.005
_LONGEST_RETRY_PAUSE_SECONDS = 0.2


@attrs.frozen(kw_only=True)
class SteadyWriter:
    """Changes accounts until it gets a SIGTERM.

    What may be tried again it tries again. Whether a commit whose connection was lost has
    happened, the account tells: nobody else changes it.

    Attributes:
        stage: Where.
        accounts: Ids that no other process changes.
        eager: Whether the eager path is on; else the relay sends everything.
    """

    stage: Stage
    accounts: Sequence[str]
    eager: bool

    def __call__(self) -> None:
        is_told_to_end = False

        def end(*_: object) -> None:
            nonlocal is_told_to_end
            is_told_to_end = True

        signal.signal(signal.SIGTERM, end)
        equipment = Equipment.of(self.stage)
        eager = equipment.eager() if self.eager else None
        work = _Work(equipment.units_of_work(eager), dict.fromkeys(self.accounts, 0))
        for account in itertools.cycle(self.accounts):
            if is_told_to_end:
                break
            work.change(account)
            time.sleep(_PAUSE_SECONDS)
        if eager is not None:
            eager.wait_until_idle(dt.timedelta(seconds=10))
            eager.shutdown()
        self.stage.diary.counted(
            acknowledged=sum(work.moves.values()),
            retries=work.retries,
            commits_of_unknown_outcome=work.found_committed,
        )


@attrs.define(eq=False)
class _Work:
    units_of_work: SqlAlchemyUnitsOfWork
    moves: dict[str, int]
    retries: int = attrs.field(default=0, init=False)
    found_committed: int = attrs.field(default=0, init=False)

    def change(self, account_id: str) -> None:
        """Change an account, again after every error that allows it.

        Raises:
            AssertionError: What was committed before is not there.
        """
        before = self.moves[account_id]
        while True:
            try:
                self._change_once(account_id, before)
            except (ConcurrencyError, OutboxStoreError) as error:
                if not error.retryable:
                    raise
                self.retries += 1
                time.sleep(random.uniform(0.0, _LONGEST_RETRY_PAUSE_SECONDS))
            else:
                self.moves[account_id] = before + _EVENTS
                return

    def _change_once(self, account_id: str, before: int) -> None:
        with self.units_of_work() as work:
            account = account_of(work, account_id)
            if account.moves == before + _EVENTS:
                self.found_committed += 1
                return
            assert account.moves == before, f"{account_id} has {account.moves}, not {before}"
            account.move(*[""] * _EVENTS)
            work.commit()
