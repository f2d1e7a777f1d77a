"""A thread of the eager publisher that sends: one aggregate at a time, whatever is ready."""

from collections.abc import Callable

import attrs

from pragmatic_ddd.application.outbox.delivery import LaneDelivery
from pragmatic_ddd.application.outbox.health import BrokerHealth
from pragmatic_ddd.application.outbox.lane_board import LaneBoard
from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.ports.outbox_message import ClaimedMessage


@attrs.frozen(kw_only=True, eq=False)
class EagerWorker:
    """Takes lanes from the board, sends what they have, and puts down what became of it.

    Attributes:
        board: The lanes.
        delivery: Sends.
        health: Whether anything may be sent, and whether it is a probe.
        leave_to_relay: Wakes the relay when the broker is back; never raises.
    """

    board: LaneBoard
    delivery: LaneDelivery
    health: BrokerHealth
    leave_to_relay: Callable[[int], None]

    def run(self) -> None:
        """Work until the board is closed and empty, or aborted."""
        board = self.board
        while (run := board.next_run()) is not None:
            lane, claims = run
            board.finish(lane, self._deliver(claims, board))

    def _deliver(self, claims: list[ClaimedMessage], board: LaneBoard) -> Settlement:
        setbacks = self.health.setbacks
        is_probe = self.health.is_away
        may_send = self.health.allowance(1)

        def stopped() -> bool:
            return not may_send or board.is_aborted or self.health.setbacks != setbacks

        outcome = self.delivery.deliver(claims, stopped=stopped)
        if is_probe and may_send:
            self._end_probe(outcome)
        return outcome

    def _end_probe(self, outcome: Settlement) -> None:
        if outcome.sent:
            self.leave_to_relay(0)  # it may sleep until the next probe: wake it
        elif len(outcome.untried) == len(outcome):
            self.health.give_back_probe()
