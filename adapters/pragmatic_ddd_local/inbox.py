"""Inboxes in memory, for tests and first steps: what they remember ends with the process.

inbox = InMemoryInbox(store.transactions)
manager.register_subscriber("ship", OrderPaid, once(inbox, "ship", ship))

The handler is given the transactions: repositories and stores that were made with them take part
in the one that is open.
"""

from collections.abc import Callable

import attrs

from pragmatic_ddd.application.arguments import of_type
from pragmatic_ddd.application.inbox import Verdict, place_of, verdict_on
from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd.ports import Arrival, EventGap, EventPlace, Handling
from pragmatic_ddd_local.transactions import InMemoryTransactionOperations
from pragmatic_ddd_local.turns import Turns

Handler = Callable[[InMemoryTransactionOperations], object]


@attrs.define(eq=False)
class InMemoryInbox:
    """Drops each event that comes again.

    Attributes:
        transactions: Handlers work in one of these.
    """

    transactions: InMemoryTransactionOperations = attrs.field(
        factory=InMemoryTransactionOperations, validator=of_type(InMemoryTransactionOperations)
    )
    _handled: set[tuple[str, str]] = attrs.field(factory=set, init=False, repr=False)
    _turns: Turns = attrs.field(factory=Turns, init=False, repr=False)

    def handle(
        self, arrival: Arrival, handler: Handler, *, past_gap: bool = False
    ) -> Handling | EventGap:
        key = arrival.subscriber, arrival.message_id
        with self._turns.of(key):
            if key in self._handled:
                return Handling.REPEATED
            _execute(self.transactions, handler)
            self._handled.add(key)
            return Handling.HANDLED


@attrs.define(eq=False)
class InMemoryWatermarkInbox:
    """Drops what comes again, and what comes after a later event of its aggregate; sees gaps.

    Attributes:
        transactions: Handlers work in one of these.
    """

    transactions: InMemoryTransactionOperations = attrs.field(
        factory=InMemoryTransactionOperations, validator=of_type(InMemoryTransactionOperations)
    )
    _last: dict[tuple[str, str, str], EventPlace] = attrs.field(
        factory=dict, init=False, repr=False
    )
    _turns: Turns = attrs.field(factory=Turns, init=False, repr=False)

    def handle(
        self, arrival: Arrival, handler: Handler, *, past_gap: bool = False
    ) -> Handling | EventGap:
        place = place_of(arrival)
        key = arrival.subscriber, arrival.aggregate_type, arrival.aggregate_id
        with self._turns.of(key):
            last = self._last.get(key)
            verdict = verdict_on(arrival, last, past_gap=past_gap)
            if verdict is Verdict.REPEATED:
                return Handling.REPEATED
            if verdict is Verdict.GAP:
                return EventGap(arrival=arrival, last=last)
            _execute(self.transactions, handler)
            self._last[key] = place
            return Handling.HANDLED


def _execute(transactions: InMemoryTransactionOperations, handler: Handler) -> None:
    if transactions.is_active:
        raise UnitOfWorkError("an inbox joins no open transaction: it marks what it has committed")
    transactions.execute(lambda: handler(transactions))
