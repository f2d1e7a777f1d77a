"""The outage part of the run: every scenario in a process of its own, three at a time."""

import contextlib
import json
import signal
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from tests.acceptance.faults.children import Child, wait_for
from tests.acceptance.faults.figures import Figures
from tests.acceptance.faults.outage.absence import ROWS, absence
from tests.acceptance.faults.outage.poison import poison
from tests.acceptance.faults.stage import DATABASES

_HOUR = 3600.0
_AT_ONCE = 3
_PATIENCE_SECONDS = 600.0


def run(*, quick: bool, folder: Path) -> dict[str, Any]:
    """Let hours pass without a broker, in virtual time, and count what became of 1,000 rows.

    - *away*: killed for three hours, on each database, while rows are committed; then started
      again on its port. No attempt counts, only a probe is sent now and then, and what has
      gathered is drained in batches of 1, 2, 4, …
    - *silent*: takes every message and confirms none. As above, with no more copies than probes.
    - *poison*: three kinds of messages that no broker takes. Each ends FAILED and blocks its
      account; everything else goes on.
    - *poison flapping*: the same while the broker is killed and started every other minute.

    Needs PostgreSQL and MariaDB. Takes half a minute when quick and two minutes otherwise, on two
    cores that do nothing else. Quick: the last three on one database each, and fifteen minutes
    of silence instead of three hours.

    Args:
        quick: Whether to leave out what another database does the same way.
        folder: For logs, journals and figures.

    Returns:
        ``rows``, ``failed_by_outage`` and ``sent_after`` (the worst of all databases, away and
        silent); ``lost``, ``overtaken`` and ``duplicates_outside_window`` in sum; ``problems``,
        which is empty if every bound was kept; the figures of each of the ``scenarios``.
    """
    tasks = _tasks(folder, quick=quick)
    _run_all(tasks)
    figures = {task.name: task.figures() for task in tasks}
    absences = [figures[task.name] for task in tasks if task.is_absence]
    return {
        "rows": min(one.get("rows", 0) for one in absences),
        "failed_by_outage": max(one.get("failed_by_outage", ROWS) for one in absences),
        "sent_after": min(one.get("sent_after", 0) for one in absences),
        **{
            name: sum(one.get(name, 0) for one in figures.values())
            for name in ("lost", "overtaken", "duplicates_outside_window")
        },
        "problems": [problem for one in figures.values() for problem in one["problems"]],
        "scenarios": figures,
    }


@attrs.define(eq=False)
class _Task:
    """A scenario that a child runs; its figures come back in a file."""

    name: str
    scenario: Callable[[], Figures]
    folder: Path
    is_absence: bool = False

    def start(self) -> Child:
        self.folder.mkdir(parents=True, exist_ok=True)
        return Child.start(self.name, self._work, log=self._log)

    def figures(self) -> Mapping[str, Any]:
        if not self._result.exists():
            return {"problems": [f"{self.name}: it did not end well, see {self._log}"]}
        figures: dict[str, Any] = json.loads(self._result.read_text())
        return figures

    def _work(self) -> None:
        self._result.write_text(json.dumps(dict(self.scenario())))

    @property
    def _log(self) -> Path:
        return self.folder / "log"

    @property
    def _result(self) -> Path:
        return self.folder / "figures.json"


def _tasks(folder: Path, *, quick: bool) -> list[_Task]:
    silence = (0.25 if quick else 3.0) * _HOUR
    tasks = []

    def add(name: str, scenario: Callable[..., Figures], *, is_absence: bool = False) -> None:
        own = folder / name.replace(" ", "_")
        tasks.append(_Task(name, partial(scenario, folder=own), own, is_absence=is_absence))

    for database in ("postgresql", "mariadb", "sqlite"):  # the longest first
        away = partial(absence, database, seconds=3 * _HOUR, silent=False)
        add(f"away {database}", away, is_absence=True)
    for database in ("postgresql",) if quick else DATABASES:
        silent = partial(absence, database, seconds=silence, silent=True)
        add(f"silent {database}", silent, is_absence=True)
    for database in ("sqlite",) if quick else DATABASES:
        add(f"poison flapping {database}", partial(poison, database, flapping=True))
        add(f"poison {database}", partial(poison, database, flapping=False))
    return tasks


def _run_all(tasks: list[_Task]) -> None:
    waiting = list(tasks)
    running: list[Child] = []

    try:
        with contextlib.suppress(TimeoutError):  # the figures will say what is missing
            while waiting or running:
                while waiting and len(running) < _AT_ONCE:
                    running.append(waiting.pop(0).start())
                wait_for(
                    lambda: any(child.has_ended() for child in running),
                    _PATIENCE_SECONDS,
                    "a scenario to end",
                )
                running[:] = [child for child in running if not child.has_ended()]
    finally:
        for child in running:
            child.send(signal.SIGKILL)
            child.wait(_PATIENCE_SECONDS)
