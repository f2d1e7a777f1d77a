"""The rounds of a relay: claim a batch, send it, write what became of it.

once()    claim ── send ── settle
next()    claim ── send ─┬─ settle         what the broker has confirmed is written beside the
                         └─ claim ── send  next claims, which may run beside a send, too
"""

import time
from collections.abc import Callable

import attrs

from pragmatic_ddd.application.outbox.claims_ahead import ClaimsAhead
from pragmatic_ddd.application.outbox.config import OutboxRelayConfig
from pragmatic_ddd.application.outbox.health import BrokerHealth
from pragmatic_ddd.application.outbox.relay_round import RelayRound
from pragmatic_ddd.application.outbox.reused_threads import ReusedThreads
from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.application.outbox.settling import Settling
from pragmatic_ddd.application.outbox.wave_delivery import Delivery
from pragmatic_ddd.ports.metrics import IEventMetrics, PublishPath
from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.outbox_message import ClaimedMessage

# A batch that took longer has none claimed beside it.
_SHARE_OF_LEASE = 0.1
_CLAIMS_PER_BATCH = 4


@attrs.define(kw_only=True, eq=False)
class RelayRounds:
    """Does one round after the other, for one thread.

    Attributes:
        store: The outbox.
        delivery: Sends.
        threads: Do what is done beside the caller's thread, and end with ``once`` and ``end``.
        metrics: What is counted.
        health: How much may be sent.
        config: Batch size and lease.
        is_stopping: Asked before each send: whether the rest of the batch is to be given back.
        monotonic: In seconds.
        settling: Writes the results.
    """

    store: IOutboxStore
    delivery: Delivery
    threads: ReusedThreads
    metrics: IEventMetrics
    health: BrokerHealth
    config: OutboxRelayConfig
    is_stopping: Callable[[], bool]
    monotonic: Callable[[], float] = time.monotonic
    settling: Settling = attrs.field(init=False)
    _ahead: ClaimsAhead = attrs.field(init=False)
    _last_batch_took: float = attrs.field(default=0.0, init=False)
    _last_claim_took: float = attrs.field(default=0.0, init=False)

    def __attrs_post_init__(self) -> None:
        start = self.threads.start
        self.settling = Settling(self.store, self.metrics, PublishPath.RELAY, start=start)
        self._ahead = ClaimsAhead(start=start)

    def once(self) -> RelayRound:
        """Do a round of which nothing is left to be done.

        Raises:
            OutboxStoreError: The database failed; results that could not be written are kept.
            KeyboardInterrupt: Ctrl-C while messages were sent; what is known has been written.
        """
        self.settling.finish()
        setbacks = self.health.setbacks
        claimed, size = self._claim()
        if not claimed:
            return RelayRound()
        try:
            outcome = self._send(claimed, setbacks)
        finally:
            self.threads.end()
        done = RelayRound.of(outcome, full=_is_full(claimed, size))
        self._settle(outcome, self.settling.write)
        return attrs.evolve(done, lost=outcome.lost)

    def next(self) -> RelayRound:
        """Do a round, and leave to the next what may as well be done beside it.

        Nothing is claimed before everything is written, but what the broker has confirmed.

        Raises:
            OutboxStoreError: As for ``once``.
            KeyboardInterrupt: As for ``once``.
        """
        if self.settling.confirmed_token is None:
            self.settling.finish()
        setbacks = self.health.setbacks
        self._give_back_in_an_outage()
        claimed, size = self._take_ahead(), self.config.batch_size
        if not claimed:
            claimed, size = self._claim()
        self._learn_from(claimed, size)
        if not claimed:
            self.settling.finish()
            return RelayRound()
        self._make_ready_for(claimed)
        outcome = self._send(claimed, setbacks)
        done = RelayRound.of(outcome, full=_is_full(claimed, size))
        beside = outcome.interrupt is None
        self._settle(outcome, self.settling.write_beside if beside else self.settling.write)
        self._give_back_in_an_outage()
        return done

    def end(self) -> None:
        """Write what is left, and give back what will not be sent.

        Raises:
            OutboxStoreError: The database failed: the rest comes back with its lease.
        """
        try:
            self.settling.finish()
        finally:
            try:
                self._give_back_what_is_ahead()
            finally:
                self.threads.end()

    def _take_ahead(self) -> list[ClaimedMessage]:
        try:
            return self._ahead.take()
        except Exception:
            self._give_back_what_is_ahead()  # not to be owned while the relay makes a pause
            raise

    def _claim(self) -> tuple[list[ClaimedMessage], int]:
        """Return a batch, and how many messages it might have had."""
        size = self.health.allowance(self.config.batch_size)
        if not size:
            return [], size
        claimed: list[ClaimedMessage] = []
        try:
            claimed = self._claim_pending(size, self.settling.confirmed_token)
        finally:
            if not claimed:
                self.health.give_back_probe()
        return claimed, size

    def _claim_pending(self, size: int, confirmed_token: str | None) -> list[ClaimedMessage]:
        begun = self.monotonic()
        claimed = self.store.claim_pending(
            batch_size=size, lease=self.config.lease, confirmed_token=confirmed_token
        )
        self._last_claim_took = self.monotonic() - begun
        return claimed

    def _learn_from(self, claimed: list[ClaimedMessage], size: int) -> None:
        if not claimed or not claimed[0].taken_over:  # which would have come alone
            self._ahead.learn_from(len(claimed), size)

    def _make_ready_for(self, claimed: list[ClaimedMessage]) -> None:
        """Do what is to be done before these are sent; if that fails, they are to be given back."""
        try:
            if claimed[0].taken_over:  # what may kill the process would take others along
                self._give_back_what_is_ahead()
                self.settling.finish()  # the marks, too
            elif self._gains_from_claiming_ahead(claimed):
                token = self.settling.confirmed_token
                self._ahead.begin(
                    lambda: self._claim_pending(self.config.batch_size, token),
                    one_only=self._sends_for_long(),
                )
        except BaseException:
            self.settling.left.untried += claimed
            raise

    def _gains_from_claiming_ahead(self, claimed: list[ClaimedMessage]) -> bool:
        """Say whether the next batch should be claimed while this one is sent.

        Not where this one holds many messages of each aggregate: there would be none of others.
        Nor where sending takes long, because leases run while they wait.
        """
        size = self.config.batch_size
        if len(claimed) < size or not self.store.settles_beside_claims:
            return False
        if self.health.is_away or self.is_stopping():
            return False
        if self._last_batch_took > self.config.lease.total_seconds() * _SHARE_OF_LEASE:
            return False
        return 2 * len({one.message.aggregate for one in claimed}) > size

    def _sends_for_long(self) -> bool:
        """Say whether the next batch will be there in time, and one more only in the way."""
        return self._last_batch_took > self._last_claim_took * _CLAIMS_PER_BATCH

    def _send(self, claimed: list[ClaimedMessage], setbacks: int) -> Settlement:
        """Send, unless the broker has gone away since ``setbacks`` was read, before the claim."""
        begun = self.monotonic()

        def stopped() -> bool:
            return self.is_stopping() or self.health.setbacks != setbacks

        outcome = self.delivery.deliver_all(claimed, stopped=stopped)
        self._last_batch_took = self.monotonic() - begun
        return outcome

    def _settle(self, outcome: Settlement, write: Callable[[Settlement], None]) -> None:
        confirmed, untried = outcome.is_confirmed, len(outcome.untried) == len(outcome)
        try:
            write(outcome)
        finally:  # where it cannot be written, too: the person is not to ask twice
            if outcome.interrupt is not None:
                raise outcome.interrupt
        if untried:
            self.health.give_back_probe()
        if confirmed:
            self.health.batch_went_well(self.config.batch_size)

    def _give_back_in_an_outage(self) -> None:
        """Keep nothing that may not be sent: only a probe may, now and then."""
        if self.health.is_away:
            self._give_back_what_is_ahead()

    def _give_back_what_is_ahead(self) -> None:
        self._ahead.take_all(self.settling.left.untried)
        if self.settling.left:
            self.settling.finish()


def _is_full(claimed: list[ClaimedMessage], size: int) -> bool:
    return len(claimed) >= size or claimed[0].taken_over
