"""One stale owner: a process that stands still past its lease, and wakes up too late."""

import signal

import attrs

from tests.acceptance.faults.children import wait_for
from tests.acceptance.faults.crew import Crew
from tests.acceptance.faults.kill.failpoint import RELAY
from tests.acceptance.faults.kill.play import (
    PATIENCE_SECONDS,
    AstrayError,
    Play,
    Task,
    UnreachedError,
)
from tests.acceptance.faults.verdict import Verdict


@attrs.frozen(kw_only=True)
class StaleRun:
    """What came of one pause.

    Attributes:
        task: What was done.
        verdict: What reached the broker; ``None`` with a problem.
        accepted: Rows that the stale owner changed when it woke up.
        refused: Results of its that were refused.
        problem: What went wrong beside that, if anything did.
    """

    task: Task
    verdict: Verdict | None = None
    accepted: int = 0
    refused: int = 0
    problem: str = ""


def pause(task: Task) -> StaleRun:
    """Do it, in this process and its children.

    Raises:
        UnreachedError: The process has ended by itself.
    """
    spaced = attrs.evolve(task.failpoint.scenario, spacing_seconds=0.03)
    failpoint = attrs.evolve(task.failpoint, scenario=spaced)
    stage = task.stage()
    with stage.built():
        try:
            with Crew(stage.log) as crew:
                return _pause(task, Play(stage, failpoint, crew))
        except (TimeoutError, AstrayError) as error:
            return StaleRun(task=task, problem=f"{error}; see {stage.folder}")


def _pause(task: Task, play: Play) -> StaleRun:
    victim = play.start_both(task.trap(signal.SIGSTOP))
    wait_for(
        lambda: victim.has_ended() or victim.has_stopped(), PATIENCE_SECONDS, "the process to stop"
    )
    if victim.status is not None:
        play.raise_for_end_of(victim)
    if not play.rows.may_be_written():
        # Another of its threads has a transaction open: nobody takes over what nobody can write.
        raise UnreachedError("it stands still while it keeps rows locked")
    owned = [row.message_id for row in play.rows.unsent() if row.is_owned]
    if task.failpoint.role == RELAY:
        play.start_relay()
        if play.writer.wait(PATIENCE_SECONDS):
            raise AstrayError(f"the writer ended by {play.writer.status}")
    wait_for(play.rows.all_are_sent, PATIENCE_SECONDS, "everything to be taken over and sent")
    before = play.rows.states(owned)
    victim.send(signal.SIGCONT)
    if task.failpoint.role == RELAY and victim.end(PATIENCE_SECONDS):
        raise AstrayError(f"the stale relay ended by {victim.status}")
    play.run_to_the_end()
    after = play.rows.states(owned)
    notes = play.stage.diary.read()
    lost = [n for n in notes if n.what == "lost_lease" and n.process == victim.pid]
    return StaleRun(
        task=task,
        verdict=play.judge(victim),
        accepted=sum(before[one] != after[one] for one in owned),
        refused=sum(int(note.text) for note in lost),
    )
