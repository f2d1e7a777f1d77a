"""One life of a simulated process: its eager publisher, its relay, and what it knows.

Everything that it does is a task of the scheduler. It can be left at every point where it calls
the outbox or the broker, and it can die there: then nothing that it still calls has effect.
"""

import datetime as dt
from collections.abc import Callable, Sequence

import attrs

from pragmatic_ddd.application.outbox import BrokerHealth, OutboxRelay
from pragmatic_ddd.application.outbox import task as outbox_task
from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd.ports import IStoredEventPublisher, OutboxMessage, Receipt, StoredMessage
from tests.model.broker import Fate, error_of
from tests.model.evidence import Evidence
from tests.model.holdings import Holdings
from tests.model.scheduler import CrashedError, Task
from tests.model.simulated_eager import SimulatedEagerPublisher
from tests.model.watched_store import WatchedStore
from tests.model.world import CONFIG, LONGEST_CALL, POOL, World

_TRANSACTION = "transaction"


class RolledBackError(Exception):
    """The business transaction is given up."""


@attrs.define(eq=False)
class WatchedPublisher(IStoredEventPublisher):
    """The broker as one path of one process has it."""

    process: "Process"
    holdings: Holdings
    longest_call: dt.timedelta = LONGEST_CALL
    side_by_side: int = 1

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        return self.process.publish(message, self.holdings)


@attrs.frozen
class End:
    """The end of a task, as the event that it is elsewhere."""

    task: Task

    def is_set(self) -> bool:
        return self.task.is_over

    def wait(self) -> None:
        self.task.join()


@attrs.define(eq=False)
class Process:
    """A process, from its start to its shutdown or death.

    Attributes:
        name: Which one it is.
        is_dead: Whether it has crashed.
        dies_at: Where it will.
        failing: Points at which the store fails once.
        settles_beside: Whether its relay writes, and claims, beside its next steps.
    """

    name: str
    world: World
    settles_beside: bool
    is_dead: bool = attrs.field(default=False, init=False)
    dies_at: str | None = attrs.field(default=None, init=False)
    failing: list[str] = attrs.field(factory=list, init=False)
    tasks: list[Task] = attrs.field(factory=list, init=False)
    health: BrokerHealth = attrs.field(init=False)
    eager: SimulatedEagerPublisher = attrs.field(init=False)
    relay: OutboxRelay = attrs.field(init=False)
    is_closing: bool = attrs.field(default=False, init=False)
    round: Task | None = attrs.field(default=None, init=False)
    relay_tasks: list[Task] = attrs.field(factory=list, init=False)
    eager_holdings: Holdings = attrs.field(init=False)
    relay_holdings: Holdings = attrs.field(init=False)
    _evidence: Evidence = attrs.field(factory=Evidence, init=False)
    _may_forget: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        world = self.world
        self.health = BrokerHealth(world.clock.monotonic)
        self.eager_holdings = self._holdings()
        self.relay_holdings = self._holdings()
        self.eager = SimulatedEagerPublisher(
            store=self._store(self.eager_holdings),
            publisher=WatchedPublisher(self, self.eager_holdings),
            config=CONFIG,
            pool=POOL,
            health=self.health,
            monotonic=world.clock.monotonic,
            scheduler=world.scheduler,
            spawn=self.spawn,
        )
        self.relay = OutboxRelay(
            store=self._store(self.relay_holdings),
            publisher=WatchedPublisher(self, self.relay_holdings),
            config=CONFIG,
            health=self.health,
            monotonic=world.clock.monotonic,
        )
        self.relay._rounds.settling.start = self._spawn_beside
        self.relay._rounds._ahead.start = self._spawn_beside

    def spawn(self, name: str, work: Callable[[], object]) -> Task:
        task = Task(f"{name} of {self.name}", work, self.world.scheduler)
        self.tasks.append(task)
        return task

    def pause(self, point: str, *, held: bool = False) -> None:
        """Let the model decide what happens next, or die."""
        if not self.is_dead:
            self.world.scheduler.pause(point, held=held)
        if self.dies_at == point:
            self.is_dead = True
        if self.is_dead:
            raise CrashedError

    def store_fails(self, point: str) -> bool:
        if point not in self.failing:
            return False
        self.failing.remove(point)
        # Who announces or closes does not try again: the grace ends, and the relay is the net.
        is_announcing = self.world.scheduler.running.startswith(_TRANSACTION)
        self._may_forget = self._may_forget or self.is_closing or is_announcing
        return True

    def change(
        self, messages: Sequence[OutboxMessage], *, commits: bool, ended: Callable[[], None]
    ) -> Task:
        """Begin a business transaction with these events."""

        def work() -> None:
            try:
                self._change(messages, commits=commits)
            finally:
                ended()

        return self.spawn(_TRANSACTION, work)

    def begin_round(self) -> list[Task]:
        """Begin a round of the relay, unless one is under way; return it, and what runs beside."""
        if self.round is None or self.round.is_over:
            self.relay_tasks[:] = [task for task in self.relay_tasks if not task.is_over]
            self.round = self._spawn_for_relay("relay", self._round)
        return self.relay_tasks

    def _spawn_beside(self, task: outbox_task.Task) -> None:
        spawned = self._spawn_for_relay(task.name, task.work)
        task._is_over = End(spawned)  # type: ignore[assignment]

    def _spawn_for_relay(self, name: str, work: Callable[[], object]) -> Task:
        task = self.spawn(name, work)
        self.relay_tasks.append(task)
        return task

    def begin_shutdown(self) -> Task:
        self.is_closing = True
        return self.spawn("shutdown", self.eager.shutdown)

    def publish(self, message: OutboxMessage, holdings: Holdings) -> Receipt:
        """Do with a message what the broker's script says."""
        world, claimed = self.world, holdings.claim_of(message)
        if world.clock.monotonic() + LONGEST_CALL.total_seconds() >= claimed.deadline:
            world.history.breaks(f"{message.message_id} is sent although its lease may end first")
        self.pause("before send")
        fate = world.broker.fate_of(message)
        if fate is Fate.LATE:
            self.pause("send", held=True)
        error = error_of(fate, message)
        if fate in _DELIVERED:
            world.history.arrive(message, claimed, world.clock.monotonic())
            if fate is Fate.DOUBLED:
                world.history.lose_answer(message)
                world.history.arrive(message, claimed, world.clock.monotonic())
            if error is not None or fate is Fate.NO_RECEIPT:
                world.history.lose_answer(message)
            self.pause("after send", held=fate is Fate.LATE_ANSWER)
        if fate is Fate.NO_RECEIPT or error is not None:
            self._note_failure(fate, message)
        if error is not None:
            raise error
        if fate is Fate.NO_RECEIPT:
            return None  # type: ignore[return-value]  # an event manager that breaks its contract
        receipt = world.broker.receipt()
        world.history.confirm(message, receipt)
        self._evidence.confirmed()
        return Receipt(receipt)

    def die(self) -> None:
        """End every task where it stands; the rows that it holds stay as they are."""
        self.is_dead = True
        self.world.scheduler.kill(self.tasks)
        for holdings in (self.eager_holdings, self.relay_holdings):
            self.world.holdings.remove(holdings)

    def successor(self) -> "Process":
        """Return a new process of the same kind."""
        return Process(self.name, self.world, settles_beside=self.settles_beside)

    def forgotten(self) -> list[str]:
        """Return what it still holds although it has nothing more to do."""
        left: list[str] = []
        rounds = self.relay._rounds
        is_busy = rounds.settling.left or rounds.settling._task or rounds._ahead._claims
        if not is_busy and (self.round is None or self.round.is_over):
            left += self.relay_holdings.names()
        if self._rests() and self.eager.is_idle and not self._may_forget:
            left += self.eager_holdings.names()
        return left

    def _rests(self) -> bool:
        return all(
            task.is_over or (task.is_waiting and not task.is_ready)
            for task in self.tasks
            if task is not self.round
        )

    def _note_failure(self, fate: Fate, message: OutboxMessage) -> None:
        history = self.world.history
        if fate in (Fate.UNCONFIRMED, Fate.ANSWER_LOST):
            if self._evidence.unconfirmed(message.message_id):
                history.blame(message)
        elif fate is not Fate.AWAY:
            history.blame(message, final=fate is Fate.REJECTED)

    def _round(self) -> None:
        try:
            if not self.settles_beside:
                self.relay.run_once()
                return
            # The second claims while the results of the first are being written.
            for _ in range(2):
                self.relay._rounds.next()
        except OutboxStoreError:
            return  # the next round goes on

    def _change(self, messages: Sequence[OutboxMessage], *, commits: bool) -> None:
        reservation = self.eager.reserve(len(messages))
        self.pause("reserved")

        def store() -> list[StoredMessage]:
            stored = self.eager.store.store(messages, reservation=reservation)
            if self.world.outbox.writes_concurrently:
                self.pause("stored")
            if not commits:
                raise RolledBackError
            return stored

        try:
            stored = self.world.outbox.transactions.execute(store)
        except RolledBackError:
            if reservation is not None:
                self.eager.cancel(reservation)
            return
        self.world.history.commit(messages)
        self.eager_holdings.take([one.claim for one in stored if one.claim is not None])
        self.pause("committed")
        self.eager.announce(stored, reservation)

    def _holdings(self) -> Holdings:
        holdings = Holdings(self.world.history, self.world.clock, self.world.holdings)
        self.world.holdings.append(holdings)
        return holdings

    def _store(self, holdings: Holdings) -> WatchedStore:
        return WatchedStore(
            outbox=self.world.outbox,
            history=self.world.history,
            clock=self.world.clock,
            life=self,
            holdings=holdings,
        )


_DELIVERED = frozenset(
    {
        Fate.CONFIRMED,
        Fate.ANSWER_LOST,
        Fate.NO_RECEIPT,
        Fate.DOUBLED,
        Fate.LATE,
        Fate.LATE_ANSWER,
    }
)
