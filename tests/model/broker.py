"""A broker that does what the model says with the next send: refuse, hang, lose its answer."""

import enum
import itertools

import attrs

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
)
from pragmatic_ddd.ports import OutboxMessage

TOPIC = "model"


class Fate(enum.Enum):
    """What becomes of one send."""

    CONFIRMED = "confirmed"
    REFUSED = "refused"  # this try; the next may succeed
    REJECTED = "rejected"  # for good
    UNCONFIRMED = "unconfirmed"  # not delivered, and nobody can tell
    ANSWER_LOST = "answer lost"  # delivered, and nobody can tell
    AWAY = "away"
    BROKEN = "broken"  # the event manager breaks its contract: another error
    NO_RECEIPT = "no receipt"  # delivered, and the event manager answers nonsense
    DOUBLED = "doubled"  # delivered twice by the broker itself, confirmed once
    LATE = "late"  # hangs before it is delivered, until the model lets it go
    LATE_ANSWER = "late answer"  # hangs after it was delivered


@attrs.define(eq=False)
class Broker:
    """What it does is scripted by aggregate.

    Attributes:
        is_away: Whether it cannot be reached at all.
    """

    is_away: bool = attrs.field(default=False, init=False)
    _script: list[tuple[str, Fate]] = attrs.field(factory=list, init=False)
    _numbers: "itertools.count[int]" = attrs.field(factory=lambda: itertools.count(1), init=False)

    def script(self, aggregate: str, fate: Fate) -> None:
        """Decide the fate of the next send of an aggregate that has none yet."""
        self._script.append((aggregate, fate))

    def heal(self) -> None:
        self.is_away = False
        self._script.clear()

    def fate_of(self, message: OutboxMessage) -> Fate:
        if self.is_away:
            return Fate.AWAY
        for place, (aggregate, fate) in enumerate(self._script):
            if aggregate == message.aggregate_id:
                del self._script[place]
                return fate
        return Fate.CONFIRMED

    def receipt(self) -> str:
        return f"{TOPIC}: {next(self._numbers)}"


def error_of(fate: Fate, message: OutboxMessage) -> Exception | None:
    """Return what the event manager raises."""
    name = message.message_id
    errors: dict[Fate, Exception] = {
        Fate.REFUSED: EventPublishError(name, TOPIC, "no disk"),
        Fate.REJECTED: EventRejectedError(name, TOPIC, "too large"),
        Fate.UNCONFIRMED: EventUnconfirmedError(name, TOPIC, "no answer"),
        Fate.ANSWER_LOST: EventUnconfirmedError(name, TOPIC, "the answer was lost"),
        Fate.AWAY: BrokerUnavailableError(name, TOPIC, "connection refused"),
        Fate.BROKEN: ZeroDivisionError(),
    }
    return errors.get(fate)
