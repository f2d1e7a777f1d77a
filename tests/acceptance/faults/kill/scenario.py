"""What goes on while a process is killed, so that it comes to the failpoint."""

from collections.abc import Sequence

import attrs

from tests.acceptance.faults.broker.server import Conduct

# The troubles of the events of each transaction; they are repeated as often as needed. Four
# transactions with trouble and three accounts: it comes to each account in its turn.
_PLAIN = (("",), ("", ""), ("", "", ""))
_REFUSED = (("",), ("refuse", "", ""), ("",), ("", "refuse", ""))
_REJECTED = (("",), ("", "reject", ""), ("",), ("", ""))


@attrs.frozen(kw_only=True)
class Scenario:
    """The circumstances of a kill.

    Attributes:
        eager: Whether the writer has the eager path on; else the relay sends everything.
        pattern: Troubles of the events, transaction by transaction, over and over.
        transactions: How many the writer commits.
        accounts: How many it changes, in turn.
        conduct: Of the broker.
        waits: Whether the writer waits until its eager publisher is idle before it shuts it down.
        spacing_seconds: Pause of the writer between two transactions.
        stops_relay: Whether the relay gets a SIGTERM while it has a batch in hand.
    """

    eager: bool
    pattern: Sequence[Sequence[str]] = _PLAIN
    transactions: int = 12
    accounts: int = 3
    conduct: Conduct = attrs.field(factory=Conduct)
    waits: bool = True
    spacing_seconds: float = 0.0
    stops_relay: bool = False

    def changes(self, transactions: int) -> list[Sequence[str]]:
        return [self.pattern[number % len(self.pattern)] for number in range(transactions)]


EAGER = Scenario(eager=True)
# Later events find the first of their account on its way: born without an owner, claimed in turn.
QUEUEING = Scenario(eager=True, accounts=1, conduct=Conduct(delay_seconds=0.01))
EAGER_REFUSED = Scenario(eager=True, pattern=_REFUSED)
EAGER_REJECTED = Scenario(eager=True, pattern=_REJECTED)
EAGER_CUT_SHORT = Scenario(eager=True, conduct=Conduct(delay_seconds=0.1), waits=False)

RELAYED = Scenario(eager=False, transactions=8)
RELAY_REFUSED = Scenario(eager=False, transactions=8, pattern=_REFUSED)
RELAY_REJECTED = Scenario(eager=False, transactions=8, pattern=_REJECTED)
RELAY_CUT_SHORT = Scenario(eager=False, conduct=Conduct(delay_seconds=0.02), stops_relay=True)
