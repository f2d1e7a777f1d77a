"""How long the relay sleeps after a round: until something is due, at most the poll interval."""

import datetime as dt

import attrs

from pragmatic_ddd.application.outbox.health import BrokerHealth
from pragmatic_ddd.application.outbox.maintenance import OutboxMaintenance
from pragmatic_ddd.application.outbox.relay_round import RelayRound
from pragmatic_ddd.ports.outbox import IOutboxStore

_NOTHING = dt.timedelta()
_SHORTEST_SLEEP = dt.timedelta(milliseconds=1)


@attrs.frozen(kw_only=True, eq=False)
class RelayPace:
    """Decides about the pause between two rounds.

    Attributes:
        poll_interval: The longest pause.
        store: Knows when the next message is due.
        health: Knows when a broker that is away is to be tried again.
        maintenance: Knows when a chore is due.
    """

    poll_interval: dt.timedelta
    store: IOutboxStore
    health: BrokerHealth
    maintenance: OutboxMaintenance

    def pause_after(self, done: RelayRound) -> dt.timedelta:
        """Return how long to sleep after a round.

        Raises:
            OutboxStoreError: The database could not be asked what is due.
        """
        if done.claimed and not self.health.is_away:
            # More may be due even if the batch was not full: a claim leaves out what it cannot
            # yet prove to be in order, and rows that were taken over come apart.
            return _NOTHING
        pause = self.poll_interval
        probe_in = self.health.probe_in
        if done.claimed or probe_in > _NOTHING:
            return max(min(pause, probe_in), _SHORTEST_SLEEP)
        # A probe that is due but has nothing to send waits like any other round.
        pause = min(pause, self.maintenance.due_in())
        next_due = self.store.next_due_in()
        if next_due is not None:
            pause = min(pause, next_due)
        return max(pause, _SHORTEST_SLEEP)
