"""All kills and pauses, a few at a time, each in processes of its own."""

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import attrs

from tests.acceptance.faults.kill.failpoint import FAILPOINTS, Failpoint
from tests.acceptance.faults.kill.play import Task, UnreachedError
from tests.acceptance.faults.kill.run import ALLOWED_SECONDS, KillRun, kill
from tests.acceptance.faults.kill.scenario import EAGER_CUT_SHORT, RELAY_CUT_SHORT
from tests.acceptance.faults.kill.stale_owner import StaleRun, pause
from tests.acceptance.faults.stage import DATABASES

RunT = TypeVar("RunT", KillRun, StaleRun)

# They wait for leases most of the time.
_SIDE_BY_SIDE = 5
_KILLS = 20
_PAUSES = 5
# A pause is taken again where another thread keeps rows locked just then: likely at some points.
_TRIES = 40

# Where a process owns rows, and stands outside of any transaction.
_PAUSE_POINTS = frozenset(
    {
        *("claim.after", "send.before", "send.written", "send.confirmed"),
        *("mark.before", "retry.before", "release.before", "dead.before"),
    }
)


def run_kills(*, quick: bool, folder: Path, broker_port: int) -> dict[str, dict[str, Any]]:
    """Kill a process at every failpoint, on every database; once, or twenty times.

    Takes about a minute, or twenty on two cores.
    """
    runs = _run_all(kill, FAILPOINTS, 1 if quick else _KILLS, folder, broker_port)
    return {
        database: _figures([one for one in runs if one.task.database == database])
        for database in DATABASES
    }


def run_pauses(*, quick: bool, folder: Path, broker_port: int) -> dict[str, Any]:
    """Have a process stand still past its lease, wherever it owns rows; on every database."""
    points = [
        one
        for one in FAILPOINTS
        if one.point in _PAUSE_POINTS and one.scenario not in (EAGER_CUT_SHORT, RELAY_CUT_SHORT)
    ]
    runs = _run_all(pause, points, 1 if quick else _PAUSES, folder, broker_port)
    verdicts = [one.verdict for one in runs if one.verdict]
    return {
        "writes_accepted": sum(one.accepted for one in runs),
        "writes_refused": sum(one.refused for one in runs),
        "failpoints": len(points),
        "runs": len(runs),
        "lost": sum(one.lost for one in verdicts),
        "phantoms": sum(one.phantoms for one in verdicts),
        "overtaken": sum(one.overtaken for one in verdicts),
        "duplicates_outside_window": sum(one.outside_window for one in verdicts),
        "problems": sum(bool(one.problem) for one in runs),
    }


def _figures(runs: Sequence[KillRun]) -> dict[str, Any]:
    verdicts = [one.verdict for one in runs if one.verdict]
    return {
        "failpoints": len({one.task.failpoint for one in runs}),
        "runs": len(runs),
        "lost": sum(one.lost for one in verdicts),
        "phantoms": sum(one.phantoms for one in verdicts),
        "overtaken": sum(one.overtaken for one in verdicts),
        "duplicates": sum(one.duplicates for one in verdicts),
        "duplicates_outside_window": sum(one.outside_window for one in verdicts),
        "recovery_max_s": round(max(one.recovery_seconds for one in runs), 3),
        "recovery_allowed_s": ALLOWED_SECONDS,
        "late": sum(one.is_late for one in runs),
        "problems": sum(bool(one.problem) for one in runs),
    }


def _run_all(
    work: Callable[[Task], RunT],
    failpoints: Iterable[Failpoint],
    times: int,
    folder: Path,
    broker_port: int,
) -> list[RunT]:
    tasks = [
        Task(
            failpoint=failpoint,
            database=database,
            passage=1 + number % failpoint.passages,
            folder=folder,
            broker_port=broker_port,
        )
        for number in range(times)
        for failpoint in failpoints
        for database in DATABASES
    ]
    runs = []
    # Spawned, not forked: each has one thread, and forks processes of its own.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_SIDE_BY_SIDE, mp_context=context, initializer=_leave_us) as pool:
        for run in pool.map(partial(_until_reached, work), tasks):
            runs.append(run)
            _report(run)
    return runs


def _until_reached(work: Callable[[Task], RunT], task: Task) -> RunT:
    """Do it again at the first passage, if the process was done before it came to a later one."""
    for _ in range(_TRIES - 1):
        try:
            return work(task)
        except UnreachedError:
            task = attrs.evolve(task, passage=1)
    return work(task)


def _leave_us() -> None:
    """Have Ctrl-C end the run, not each of its workers with a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _report(run: KillRun | StaleRun) -> None:
    """Say at once what is wrong, while its traces are fresh."""
    wrong = [run.problem] if run.problem else []
    verdict = run.verdict
    if verdict and verdict.is_bad:
        wrong.append(str(verdict))
    if isinstance(run, KillRun) and run.is_late:
        wrong.append(f"recovery took {run.recovery_seconds:.2f} s")
    if isinstance(run, StaleRun) and run.accepted:
        wrong.append(f"{run.accepted} writes of a stale owner were accepted")
    if wrong:
        task = run.task
        where = f"{task.failpoint.name} {task.database} {task.passage}"
        print(f"{where}: {'; '.join(wrong)}", file=sys.stderr, flush=True)
