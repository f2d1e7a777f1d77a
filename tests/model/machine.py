"""The state machine: what may happen to an outbox, in any order, and what must hold after each."""

import datetime as dt
import logging
from abc import abstractmethod
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from pragmatic_ddd.ports import OutboxMessage, OutboxStatus
from tests.model.broker import Fate
from tests.model.happenings import (
    AGGREGATES,
    EVERYDAY,
    PROCESSES,
    TO_THE_END,
    TROUBLE_SETS,
    TROUBLES,
)
from tests.model.outboxes import Outbox
from tests.model.process import Process
from tests.model.rows import Row
from tests.model.scheduler import Task
from tests.model.world import CONFIG, POOL, World
from tests.model.world_clock import WorldClock

_MOST_ROUNDS = 12


class OutboxMachine(RuleBasedStateMachine):
    """Several processes over one outbox and one broker; a subclass says which.

    Attributes:
        came_to_rest: How many runs of the subclass have ended with all sent that can be.
    """

    came_to_rest: ClassVar[int] = 0

    @abstractmethod
    def outbox(self, clock: WorldClock) -> Outbox:
        """Return an empty outbox that goes by that clock."""

    def __init__(self) -> None:
        super().__init__()
        logging.disable(logging.CRITICAL)
        self.clock = WorldClock()
        self.world = World(self.clock, self.outbox(self.clock))
        self.processes = [
            Process(f"process {n}", self.world, settles_beside=n % 2 == 0) for n in range(PROCESSES)
        ]
        self.locked: set[str] = set()
        self.versions = dict.fromkeys(AGGREGATES, 0)
        self.count = 0

    @initialize(troubles=TROUBLE_SETS)
    def choose(self, troubles: set[str]) -> None:
        """Each run has its own kinds of trouble: with all of them, little would ever be sent."""
        chosen = EVERYDAY | {kind: TROUBLES[kind] for kind in sorted(troubles)}
        self.kinds = st.sampled_from(
            [kind for kind, (weight, _) in chosen.items() for _ in range(weight)]
        )

    @rule(data=st.data())
    def something_happens(self, data: st.DataObject) -> None:
        kind = data.draw(self.kinds, label="what")
        _, arguments = (EVERYDAY | TROUBLES)[kind]
        getattr(self, kind)(*data.draw(arguments, label=kind))
        self._check()

    def change(
        self,
        events: list[tuple[str, bool]],
        place: int,
        commits: bool,
        and_work: bool,
        most_steps: int,
    ) -> None:
        """Change aggregates (or record events about them) in one transaction."""
        versioned = {name for name, is_versioned in events if is_versioned} - self.locked
        messages: list[OutboxMessage] = []
        for name, is_versioned in events:
            if not is_versioned or name in versioned:
                version = self.versions[name] + 1 if is_versioned else None
                messages.append(self._message(name, version, len(messages)))
        if not messages:
            return
        self.locked |= versioned

        def ended() -> None:
            self.locked -= versioned
            if messages[0].message_id in self.world.history.committed:
                for name in versioned:
                    self.versions[name] += 1

        process = self.processes[place]
        self._run([process.change(messages, commits=commits, ended=ended)], most_steps)
        if and_work:
            self._run(process.tasks)

    def relay(self, place: int, most_steps: int) -> None:
        """Let the relay of a process do a round, or a part of one."""
        self._run(self.processes[place].begin_round(), most_steps)

    def work(self, place: int, most_steps: int) -> None:
        """Let the threads of a process work until they rest, or some way."""
        self._run(self.processes[place].tasks, most_steps)

    def pass_time(self, duration: dt.timedelta) -> None:
        self.clock.advance(duration)

    def poison(self, aggregate: str, place: int, fate: Fate) -> None:
        """Let the sends of an aggregate fail until no try is left."""
        for _ in range(CONFIG.max_attempts + 1):
            self.world.broker.script(aggregate, fate)
            self.clock.advance(CONFIG.backoff_cap)
            self.relay(place, TO_THE_END)

    def crowd(self, place: int, aggregate: str, fate: Fate) -> None:
        """Let a relay find more than one batch takes, some of which may fail."""
        if not self.processes[place].is_closing:
            self.shut_down(place, TO_THE_END)
        for _ in range(2):  # without an eager publisher nobody owns them
            self.change([(name, True) for name in AGGREGATES], place, True, False, TO_THE_END)
        self.world.broker.script(aggregate, fate)
        self.relay(place, TO_THE_END)

    def kill_again(self, place: int, point: str) -> None:
        """Kill a process at each send, until no try is left."""
        for _ in range(CONFIG.max_attempts + 1):
            self.processes[place].dies_at = point
            self.relay(place, TO_THE_END)
            self.clock.advance(CONFIG.lease + dt.timedelta(seconds=1))

    def stall(self, place: int, steps_before: int, steps_of_others: int) -> None:
        """Leave a process hanging until its leases are over and others have taken its rows."""
        process = self.processes[place]
        self._run([*process.begin_round(), *process.tasks], steps_before)
        self.clock.advance(CONFIG.lease + dt.timedelta(seconds=1))
        for other in self.processes:
            if other is not process:
                self._run(other.begin_round(), steps_of_others)
        self._run(process.tasks)

    def step_back(self, duration: dt.timedelta) -> None:
        """Set the database's clock back."""
        self.clock.step_back(duration)

    def script(self, aggregate: str, fate: Fate) -> None:
        """Decide what becomes of the next send of an aggregate."""
        self.world.broker.script(aggregate, fate)

    def script_all(self, fate: Fate) -> None:
        """Decide what becomes of the next send of every aggregate."""
        for aggregate in AGGREGATES:
            self.world.broker.script(aggregate, fate)

    def outage(self) -> None:
        """Begin an outage of the broker, or end it."""
        self.world.broker.is_away = not self.world.broker.is_away

    def let_go(self) -> None:
        """Let what hangs in the broker go on."""
        for process in self.processes:
            for task in process.tasks:
                task.is_held = False

    def fail_store(self, place: int, point: str) -> None:
        """Let the store fail once for a process: before it has done something, or after."""
        self.processes[place].failing.append(point)

    def kill(self, place: int) -> None:
        """Kill a process where it stands."""
        self.processes[place].is_dead = True
        self._bury()

    def kill_at(self, place: int, point: str) -> None:
        """Have a process die when it comes to a point."""
        self.processes[place].dies_at = point

    def shut_down(self, place: int, most_steps: int) -> None:
        """Shut the eager publisher of a process down; the process goes on without it."""
        process = self.processes[place]
        if not process.is_closing:
            process.begin_shutdown()
        self._run(process.tasks, most_steps)
        self.clock.advance(POOL.shutdown_timeout)
        self._run(process.tasks, most_steps)

    def close_busy(self, place: int, aggregate: str, most_steps: int, lets_go: bool) -> None:
        """Shut down while a send hangs, others wait, and a transaction is under way."""
        self.world.broker.script(aggregate, Fate.LATE)
        self.change([(name, True) for name in AGGREGATES], place, True, True, TO_THE_END)
        self.change([(aggregate, True)], place, True, False, most_steps)
        self.shut_down(place, TO_THE_END)
        if lets_go:
            self.let_go()
            self.work(place, TO_THE_END)

    def decide(self, number: int, replay: bool) -> None:
        """Replay or skip a dead letter."""
        failed = self._in_state(OutboxStatus.FAILED)
        if not failed:
            return
        row = failed[number % len(failed)]
        if replay:
            self._replay(row, out_of_order=False)
            return
        self.world.outbox.store.skip([row.message_id], by="a person", reason="of theirs")
        self.world.history.skip([row.message_id])
        assert self._row(row).status is OutboxStatus.SKIPPED
        self._assert_woken(row)

    def replay_skipped(self, number: int) -> None:
        """Replay what was skipped, out of order."""
        skipped = self._in_state(OutboxStatus.SKIPPED)
        if skipped:
            self._replay(skipped[number % len(skipped)], out_of_order=True)

    def tidy(self) -> None:
        self.world.outbox.store.tidy()

    def purge(self, older_than: dt.timedelta) -> None:
        before = self.world.outbox.rows()
        self.world.outbox.store.purge(older_than=older_than)
        left = {row.message_id for row in self.world.outbox.rows()}
        purged = [row for row in before if row.message_id not in left]
        assert all(row.sent_at is not None and not row.is_unsent for row in purged), purged
        self.world.history.purge(row.message_id for row in purged)

    def _check(self) -> None:
        """What must hold at every moment."""
        history = self.world.history
        history.observe(self.world.outbox.rows())
        for process in self.processes:
            for name in process.forgotten():
                history.breaks(f"{process.name} has forgotten {name}")
        assert not history.violations, "; ".join(history.violations)
        for error in self.world.scheduler.errors:
            raise error

    def teardown(self) -> None:
        try:
            if not self.world.history.violations and not self.world.scheduler.errors:
                self._come_to_rest()
        finally:
            for process in self.processes:
                process.die()
            logging.disable(logging.NOTSET)

    def _come_to_rest(self) -> None:
        """Heal everything, let time pass and relays run: all that can be sent is sent."""
        self.world.broker.heal()
        for process in self.processes:
            process.dies_at = None
            process.failing.clear()
        for _ in range(_MOST_ROUNDS):
            self.let_go()
            for process in self.processes:
                self._run(process.tasks)
                process.relay.store.tidy()
                for _ in range(len(self.world.history.committed) + 1):
                    self._run(process.begin_round())
            self._check()
            if all(self._is_settled(row) for row in self.world.history.rows.values()):
                type(self).came_to_rest += 1
                return
            self.clock.advance(dt.timedelta(minutes=61))
        left = [row for row in self.world.history.rows.values() if not self._is_settled(row)]
        raise AssertionError(f"never sent: {left}")

    def _is_settled(self, row: Row) -> bool:
        if not row.is_open:
            return True
        return any(
            other.status is OutboxStatus.FAILED
            and other.aggregate == row.aggregate
            and other.id < row.id
            for other in self.world.history.rows.values()
        )

    def _run(self, tasks: list[Task], most_steps: int = TO_THE_END) -> None:
        came_to_rest = self.world.scheduler.run(tasks, most_steps=most_steps)
        assert came_to_rest or most_steps < TO_THE_END, "threads run and run, and no time passes"
        self._bury()

    def _bury(self) -> None:
        """Replace the dead."""
        for place, process in enumerate(self.processes):
            if process.is_dead:
                process.die()
                self.processes[place] = Process(
                    process.name, self.world, settles_beside=process.settles_beside
                )

    def _in_state(self, status: OutboxStatus) -> list[Row]:
        return [row for row in self.world.history.rows.values() if row.status is status]

    def _replay(self, row: Row, *, out_of_order: bool) -> None:
        self.world.outbox.store.replay([row.message_id], out_of_order=out_of_order)
        self.world.history.replay([row.message_id])
        replayed = self._row(row)
        assert replayed.is_free, replayed
        assert replayed.attempts == 0, replayed
        assert replayed.due_at <= self.clock.now(), replayed
        self._assert_woken(row)

    def _assert_woken(self, row: Row) -> None:
        """What a dead letter had blocked is due, though it may wait behind another one."""
        for other in self.world.outbox.rows():
            if other.aggregate == row.aggregate and other.is_free:
                assert other.due_at <= self.clock.now(), f"nobody has woken {other}"

    def _row(self, row: Row) -> Row:
        return next(other for other in self.world.outbox.rows() if other.id == row.id)

    def _message(self, aggregate: str, version: int | None, index: int) -> OutboxMessage:
        self.count += 1
        return OutboxMessage(
            message_id=f"{aggregate}{self.count}" + ("" if version else "?"),
            aggregate_type="shop.order",
            aggregate_id=aggregate,
            aggregate_version=version,
            event_index=index,
            event_type="shop.order.paid",
            payload=b"{}",
        )
