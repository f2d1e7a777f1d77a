"""The eager publisher of a simulated process: its threads are tasks of the scheduler."""

from collections.abc import Callable

import attrs

from pragmatic_ddd.application.outbox import EagerOutboxPublisher
from pragmatic_ddd.application.outbox.coordinator import Coordinator
from pragmatic_ddd.application.outbox.lane_board import LaneBoard
from tests.model.scheduler import BatonCondition, BatonQueue, Scheduler, Task


@attrs.define(kw_only=True, eq=False)
class SimulatedEagerPublisher(EagerOutboxPublisher):
    """The real one, with threads that the scheduler runs."""

    scheduler: Scheduler
    spawn: Callable[[str, Callable[[], object]], Task]
    coordinator: Coordinator | None = attrs.field(default=None, init=False)

    @property
    def is_idle(self) -> bool:
        """Whether it has nothing in hand, and no result to write."""
        is_behind = self.coordinator is not None and self.coordinator._is_behind
        return not (self._board._room.held or self._board._finished or is_behind)

    def _begin_empty(self) -> None:
        super()._begin_empty()
        baton = BatonCondition(self.scheduler)
        self._board._lock = baton  # type: ignore[assignment]  # a stand-in, as are these
        self._board._for_coordinator = baton  # type: ignore[assignment]
        self._board._for_idleness = baton  # type: ignore[assignment]
        self._board._for_workers = BatonQueue(self.scheduler)  # type: ignore[assignment]

    def _coordinator(self, board: LaneBoard) -> Coordinator:
        self.coordinator = super()._coordinator(board)
        return self.coordinator

    def _start(self, name: str, target: Callable[[], None]) -> None:
        self._threads.append(self.spawn(name, target))
