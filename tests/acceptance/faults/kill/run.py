"""One kill: wait for the process to die, start it again, measure how its rows come back."""

import signal
import time
from collections.abc import Mapping, Sequence

import attrs

from pragmatic_ddd.application.outbox import settlement
from tests.acceptance.faults.broker.journal import Copy, copies
from tests.acceptance.faults.broker.server import Conduct
from tests.acceptance.faults.crew import Crew
from tests.acceptance.faults.diary import Note
from tests.acceptance.faults.kill.failpoint import RELAY
from tests.acceptance.faults.kill.play import (
    LEASE,
    PATIENCE_SECONDS,
    POLL,
    AstrayError,
    Play,
    Task,
)
from tests.acceptance.faults.kill.scenario import EAGER_REJECTED, RELAY_REJECTED
from tests.acceptance.faults.rows import UnsentRow
from tests.acceptance.faults.verdict import Verdict

ALLOWED_SECONDS = POLL.total_seconds() + 1.0
_OF_DEAD_LETTERS = f"{settlement.__name__}: "


@attrs.frozen(kw_only=True)
class KillRun:
    """What came of one kill.

    Attributes:
        task: What was done.
        verdict: What reached the broker; ``None`` with a problem.
        recovery_seconds: Longest time from when a row could be taken over until it arrived.
        problem: What went wrong beside the verdict, if anything did.
    """

    task: Task
    verdict: Verdict | None = None
    recovery_seconds: float = 0.0
    problem: str = ""

    @property
    def is_late(self) -> bool:
        return self.recovery_seconds > ALLOWED_SECONDS


def kill(task: Task) -> KillRun:
    """Do it, in this process and its children.

    Raises:
        UnreachedError: The process has ended by itself.
    """
    stage = task.stage()
    with stage.built():
        try:
            with Crew(stage.log) as crew:
                return _kill(task, Play(stage, task.failpoint, crew))
        except (TimeoutError, AstrayError) as error:
            return KillRun(task=task, problem=f"{error}; see {stage.folder}")


def _kill(task: Task, play: Play) -> KillRun:
    victim = play.start_both(task.trap(signal.SIGKILL))
    if victim.wait(PATIENCE_SECONDS) != -signal.SIGKILL:
        play.raise_for_end_of(victim)
    ready_at = time.time()
    unsent = play.rows.unsent()
    leases_over_at = time.time() + LEASE.total_seconds()
    play.behave(Conduct())  # a slow broker would count as a slow recovery
    if task.failpoint.role == RELAY:
        ready_at = play.start_relay()
    else:
        play.start_writer(task.failpoint.scenario.accounts)
    stuck = _what_is_stuck(play)
    verdict = play.judge(victim)
    recovery = longest_recovery(
        unsent,
        copies(play.stage.journal),
        ready_at=ready_at,
        leases_over_at=leases_over_at,
        replayed_at=play.rows.replayed_at,
        notes=play.stage.diary.read(),
    )
    return KillRun(
        task=task,
        verdict=verdict,
        recovery_seconds=recovery,
        problem=stuck or _problem(task, play, verdict),
    )


def longest_recovery(
    unsent: Sequence[UnsentRow],
    arrived: Sequence[Copy],
    *,
    ready_at: float,
    leases_over_at: float,
    replayed_at: Mapping[str, float],
    notes: Sequence[Note],
) -> float:
    """Return the longest time from when a row could be had until it was with the broker.

    That is when its last copy arrived, or when the broker refused it: the wait for another try is
    no part of the recovery, for the row itself and for those behind it.

    It could be had when its process had died (and the relay was there again), its lease and
    those of its elders were over, and the operator had replayed what was dead of its aggregate.

    Args:
        unsent: The rows that waited when the process had died.
        arrived: All copies.
        ready_at: When somebody could take them, in seconds of the wall clock, as all times.
        leases_over_at: When the last lease was over that could be: a later due time is no excuse.
        replayed_at: When dead letters were replayed, by aggregate.
        notes: All of them.
    """
    refused = [
        (note.at, event_id)
        for note in notes
        if note.what == "refused"
        for event_id in note.event_ids
    ]
    last_copy = {copy.event_id: copy.at for copy in arrived}
    free_at: dict[str, float] = {}
    longest = 0.0
    for row in unsent:
        free = max(
            min(row.due_at, leases_over_at),
            ready_at,
            replayed_at.get(row.aggregate_id, 0.0),
            free_at.get(row.aggregate_id, 0.0),
        )
        copied_at = last_copy.get(row.message_id, free)
        refusals = [at for at, event_id in refused if event_id == row.message_id and at >= free]
        longest = max(longest, min([copied_at, *refusals]) - free)
        free_at[row.aggregate_id] = copied_at if refusals else free
    return longest


def _what_is_stuck(play: Play) -> str:
    """Run to the end; say what does not come to it. What is lost by then must be counted, too."""
    try:
        play.run_to_the_end()
    except (TimeoutError, AstrayError) as error:
        return f"{error}; see {play.stage.folder}"
    return ""


def _problem(task: Task, play: Play, verdict: Verdict) -> str:
    errors = [note.text for note in play.stage.diary.read() if note.what == "error"]
    if task.failpoint.scenario in (EAGER_REJECTED, RELAY_REJECTED):
        errors = [text for text in errors if not text.startswith(_OF_DEAD_LETTERS)]
    if errors:
        return f"{len(errors)} errors were logged; see {play.stage.folder}"
    if not play.was_applied(verdict.events):
        return f"the consumer has not applied each event once, in order; see {play.stage.folder}"
    return ""
