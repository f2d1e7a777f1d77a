"""The model, over the outbox in memory and in a SQLite file."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import OutboxMachine
from tests.model.outboxes import MemoryOutbox, SqliteFile, SqliteOutbox, leases_measured_by
from tests.model.world_clock import WorldClock

_EXAMPLES = 40
_STEPS = 60
_PATIENCE_SECONDS = 1200  # a failing run is made as short as it can be

Repeatable = Callable[[type[OutboxMachine]], int]


@pytest.mark.timeout(_PATIENCE_SECONDS)
def test_the_outbox_in_memory_keeps_its_promises(repeatable: Repeatable) -> None:
    class InMemory(OutboxMachine):
        def outbox(self, clock: WorldClock) -> MemoryOutbox:
            return MemoryOutbox(clock)

    assert repeatable(InMemory) >= _examples()


@pytest.mark.timeout(_PATIENCE_SECONDS)
def test_the_outbox_in_a_sqlite_file_keeps_its_promises(
    repeatable: Repeatable, tmp_path: Path
) -> None:
    file = SqliteFile(tmp_path / "outbox.db")

    class InSqlite(OutboxMachine):
        def outbox(self, clock: WorldClock) -> SqliteOutbox:
            file.begin(clock)
            return SqliteOutbox(file)

    with leases_measured_by(file):
        came_to_rest = repeatable(InSqlite)
    file.close()

    assert came_to_rest >= _examples()


def _examples() -> int:
    return int(os.environ.get("EXAMPLES", _EXAMPLES))


@pytest.fixture
def repeatable(request: pytest.FixtureRequest) -> Repeatable:
    """Run the model, and return how many runs came to rest.

    Say with a failure by which command anybody can see it again.
    """
    seed = request.config.getoption("--hypothesis-seed")
    examples = _examples()
    chosen = settings(
        database=None,
        deadline=None,
        derandomize=seed is None,
        max_examples=examples,
        print_blob=False,
        report_multiple_bugs=False,
        stateful_step_count=_STEPS,
        suppress_health_check=list(HealthCheck),
    )

    def run(machine: type[OutboxMachine]) -> int:
        try:
            run_state_machine_as_test(machine, settings=chosen)
        except BaseException as error:
            seeded = "" if seed is None else f" SEED={seed}"
            error.add_note(f"See it again: make model{seeded} EXAMPLES={examples}")
            raise
        return machine.came_to_rest

    return run
