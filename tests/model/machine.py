"""The state machine: what may happen to an outbox, in any order, and what must hold after each."""

import datetime as dt
import logging
from abc import abstractmethod

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pragmatic_ddd.ports import OutboxMessage, OutboxStatus
from tests.model.broker import Fate
from tests.model.outboxes import Outbox
from tests.model.process import Process, World
from tests.model.rows import Row
from tests.model.scheduler import Task
from tests.model.world_clock import WorldClock

_AGGREGATES = ("a", "b", "c")
_PROCESSES = 2
_TO_THE_END = 10_000
_MOST_ROUNDS = 12

_VERBS = ("claim_pending", "claim", "mark_sent", "release", "retry_later", "mark_failed")
_STORE_POINTS = tuple(f"{when} {verb}" for verb in _VERBS for when in ("before", "after"))
_POINTS = (*_STORE_POINTS, "reserved", "stored", "committed", "before send", "send", "after send")

# A moment, a claim's pause, a backoff, more than grace, more than a lease, more than parking.
_TIMES = tuple(dt.timedelta(seconds=each) for each in (0.01, 0.4, 3, 21, 33, 65, 4000))
_STEPS_BACK = (dt.timedelta(seconds=7), dt.timedelta(hours=1), dt.timedelta(days=30))

processes = st.integers(0, _PROCESSES - 1)
aggregates = st.sampled_from(_AGGREGATES)
steps = st.sampled_from((_TO_THE_END, 1, 2, 3, 5, 8))
changes = st.lists(
    st.tuples(aggregates, st.sampled_from((True, True, True, False))), min_size=1, max_size=4
)


class OutboxMachine(RuleBasedStateMachine):
    """Several processes over one outbox and one broker; a subclass says which."""

    @abstractmethod
    def outbox(self, clock: WorldClock) -> Outbox:
        """Return an empty outbox that goes by that clock."""

    def __init__(self) -> None:
        super().__init__()
        logging.disable(logging.CRITICAL)
        self.clock = WorldClock()
        self.world = World(self.clock, self.outbox(self.clock))
        self.processes = [Process(f"process {n}", self.world) for n in range(_PROCESSES)]
        self.locked: set[str] = set()
        self.versions = dict.fromkeys(_AGGREGATES, 0)
        self.count = 0

    @rule(
        process=processes,
        change=changes,
        commits=st.sampled_from((True, True, True, False)),
        most_steps=steps,
    )
    def change(
        self, process: int, change: list[tuple[str, bool]], commits: bool, most_steps: int
    ) -> None:
        """Change aggregates (or record events about them) in one transaction."""
        versioned = {name for name, is_versioned in change if is_versioned} - self.locked
        messages: list[OutboxMessage] = []
        for name, is_versioned in change:
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

        task = self.processes[process].change(messages, commits=commits, ended=ended)
        self._run([task], most_steps)

    @rule(process=processes, most_steps=steps)
    def relay(self, process: int, most_steps: int) -> None:
        """Let the relay of a process do a round, or a part of one."""
        self._run([self.processes[process].begin_round()], most_steps)

    @rule(process=processes, most_steps=steps)
    def work(self, process: int, most_steps: int) -> None:
        """Let the threads of a process work until they rest, or some way."""
        self._run(self.processes[process].tasks, most_steps)

    @rule(duration=st.sampled_from(_TIMES))
    def pass_time(self, duration: dt.timedelta) -> None:
        self.clock.advance(duration)

    @rule(duration=st.sampled_from(_STEPS_BACK))
    def step_back(self, duration: dt.timedelta) -> None:
        """Set the database's clock back."""
        self.clock.step_back(duration)

    @rule(aggregate=aggregates, fate=st.sampled_from(list(Fate)))
    def script(self, aggregate: str, fate: Fate) -> None:
        """Decide what becomes of the next send of an aggregate."""
        self.world.broker.script(aggregate, fate)

    @rule(is_away=st.booleans())
    def outage(self, is_away: bool) -> None:
        self.world.broker.is_away = is_away

    @precondition(lambda self: any(task.is_held for task in self._tasks()))
    @rule()
    def let_go(self) -> None:
        """Let what hangs in the broker go on."""
        self._let_go()

    @rule(process=processes, point=st.sampled_from(_STORE_POINTS))
    def fail_store(self, process: int, point: str) -> None:
        """Let the store fail once for a process: before it has done something, or after."""
        self.processes[process].failing.append(point)

    @rule(process=processes)
    def kill(self, process: int) -> None:
        """Kill a process where it stands."""
        self.processes[process].is_dead = True

    @rule(process=processes, point=st.sampled_from(_POINTS))
    def kill_at(self, process: int, point: str) -> None:
        """Have a process die when it comes to a point."""
        self.processes[process].dies_at = point

    @precondition(lambda self: any(not one.is_closing for one in self.processes))
    @rule(process=processes, most_steps=steps)
    def shut_down(self, process: int, most_steps: int) -> None:
        """Shut the eager publisher of a process down; the process goes on without it."""
        if not self.processes[process].is_closing:
            self.processes[process].begin_shutdown()
        self._run(self.processes[process].tasks, most_steps)

    @precondition(lambda self: self._in_state(OutboxStatus.FAILED))
    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        """Replay a dead letter."""
        row = data.draw(st.sampled_from(self._in_state(OutboxStatus.FAILED)))
        self._replay(row, out_of_order=False)

    @precondition(lambda self: self._in_state(OutboxStatus.SKIPPED))
    @rule(data=st.data())
    def replay_skipped(self, data: st.DataObject) -> None:
        """Replay what was skipped, out of order."""
        row = data.draw(st.sampled_from(self._in_state(OutboxStatus.SKIPPED)))
        self._replay(row, out_of_order=True)

    @precondition(lambda self: self._in_state(OutboxStatus.FAILED))
    @rule(data=st.data())
    def skip(self, data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(self._in_state(OutboxStatus.FAILED)))
        self.world.outbox.store.skip([row.message_id], by="a person", reason="of theirs")
        self.world.history.skip([row.message_id])
        assert self._row(row).status is OutboxStatus.SKIPPED
        self._assert_woken(row)

    @rule()
    def tidy(self) -> None:
        self.world.outbox.store.tidy()

    @rule(older_than=st.sampled_from((dt.timedelta(seconds=30), dt.timedelta(days=7))))
    def purge(self, older_than: dt.timedelta) -> None:
        before = self.world.outbox.rows()
        self.world.outbox.store.purge(older_than=older_than)
        left = {row.message_id for row in self.world.outbox.rows()}
        purged = [row for row in before if row.message_id not in left]
        assert all(row.sent_at is not None and not row.is_unsent for row in purged), purged
        self.world.history.purge(row.message_id for row in purged)

    @invariant()
    def promises_are_kept(self) -> None:
        self._bury()
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
            self._let_go()
            for process in self.processes:
                self._run(process.tasks)
                process.relay.store.tidy()
                for _ in range(len(self.world.history.committed) + 1):
                    self._run([process.begin_round()])
            self.promises_are_kept()
            if all(self._is_settled(row) for row in self.world.history.rows.values()):
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

    def _run(self, tasks: list[Task], most_steps: int = _TO_THE_END) -> None:
        came_to_rest = self.world.scheduler.run(tasks, most_steps=most_steps)
        assert came_to_rest or most_steps < _TO_THE_END, "threads run and run, and no time passes"
        self._bury()

    def _bury(self) -> None:
        """Replace the dead."""
        for place, process in enumerate(self.processes):
            if process.is_dead:
                process.die()
                self.processes[place] = Process(process.name, self.world)

    def _let_go(self) -> None:
        for task in self._tasks():
            task.is_held = False

    def _tasks(self) -> list[Task]:
        return [task for process in self.processes for task in process.tasks]

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
