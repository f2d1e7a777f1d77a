"""Every place at which a process is killed."""

import attrs

from tests.acceptance.faults.kill import scenario
from tests.acceptance.faults.kill.scenario import Scenario

WRITER = "writer"
RELAY = "relay"


@attrs.frozen
class Failpoint:
    """One place.

    Attributes:
        role: Whose process: ``writer`` (with its eager publisher) or ``relay``.
        point: Where in its code.
        scenario: What leads there.
        passages: At which passages it may be killed: 1 to this number.
    """

    role: str
    point: str
    scenario: Scenario
    passages: int = 3

    @property
    def name(self) -> str:
        return f"{self.role} {self.point}"


def _steps(verb: str) -> tuple[str, ...]:
    return tuple(f"{verb}.{step}" for step in ("before", "uncommitted", "committed", "after"))


_CLAIM = ("claim.before", "claim.locked", *_steps("claim")[1:])
_SEND = ("send.before", "send.written", "send.confirmed")

FAILPOINTS = (
    *(
        Failpoint(WRITER, point, scenario.EAGER, passages=8)
        for point in (
            *("insert.before", "insert.after", "commit.uncommitted", "commit.committed"),
            *("hand-off.before", "hand-off.after", *_SEND),
        )
    ),
    *(Failpoint(WRITER, point, scenario.EAGER) for point in _steps("mark")),
    *(Failpoint(WRITER, point, scenario.QUEUEING) for point in _CLAIM),
    *(
        Failpoint(WRITER, point, scenario.EAGER_REFUSED)
        for verb in ("retry", "release")
        for point in _steps(verb)
    ),
    *(Failpoint(WRITER, point, scenario.EAGER_REJECTED) for point in _steps("dead")),
    Failpoint(WRITER, "shutdown.before", scenario.EAGER_CUT_SHORT, passages=1),
    Failpoint(WRITER, "release.uncommitted", scenario.EAGER_CUT_SHORT, passages=1),
    Failpoint(WRITER, "shutdown.after", scenario.EAGER_CUT_SHORT, passages=1),
    *(Failpoint(RELAY, point, scenario.RELAYED) for point in (*_CLAIM, *_SEND, *_steps("mark"))),
    *(
        Failpoint(RELAY, point, scenario.RELAY_REFUSED, passages=1)
        for verb in ("retry", "release")
        for point in _steps(verb)
    ),
    *(
        Failpoint(RELAY, point, scenario.RELAY_REJECTED, passages=1)
        for point in (*_steps("dead"), "tidy.uncommitted", "purge.uncommitted")
    ),
    Failpoint(RELAY, "shutdown.before", scenario.RELAY_CUT_SHORT, passages=1),
    Failpoint(RELAY, "release.uncommitted", scenario.RELAY_CUT_SHORT, passages=1),
    Failpoint(RELAY, "shutdown.after", scenario.RELAY_CUT_SHORT, passages=1),
)
