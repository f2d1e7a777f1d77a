"""What one round of the relay did."""

import attrs

from pragmatic_ddd.application.outbox.settlement import Settlement


@attrs.frozen(kw_only=True)
class RelayRound:
    """What one round did.

    Attributes:
        claimed: Messages taken.
        sent: Confirmed by the broker.
        failed: Failed, to be tried again.
        dead: Ended FAILED.
        untried: Given back as they were.
        lost: Results of any kind that were refused, because another one owns the rows by now.
        full: Whether the batch was full, so that more is probably due.
    """

    claimed: int = 0
    sent: int = 0
    failed: int = 0
    dead: int = 0
    untried: int = 0
    lost: int = 0
    full: bool = False

    @classmethod
    def of(cls, outcome: Settlement, *, full: bool) -> "RelayRound":
        """Return what a batch has come to, before it is written."""
        return cls(
            claimed=len(outcome),
            sent=len(outcome.sent),
            failed=len(outcome.failed),
            dead=len(outcome.dead),
            untried=len(outcome.untried),
            full=full,
        )
