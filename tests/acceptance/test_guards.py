"""The list of guards is no older than the code; `make guards` takes each of them out."""

import ast

import pytest

from tests.acceptance.guards.guard import LIST, PROMISES, ROOT, Guard

GUARDS = Guard.all()
README = ROOT / "tests" / "acceptance" / "README.md"


def test_every_promise_has_a_guard() -> None:
    assert {guard.promise for guard in GUARDS} == set(PROMISES)


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: f"{guard.promise} {guard.guard}")
def test_a_guard_stands_once_in_the_code(guard: Guard) -> None:
    assert guard.occurrences() == 1, f"{LIST.name} is behind {guard.file}: {guard.text!r}"


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: f"{guard.promise} {guard.guard}")
def test_what_is_left_without_a_guard_is_still_python(guard: Guard) -> None:
    assert ast.parse(guard.taken_out(ROOT)).body


def test_the_readme_lists_every_guard_and_no_other() -> None:
    rows = [line for line in README.read_text().splitlines() if line.startswith("| G")]
    assert rows == [guard.row for guard in GUARDS]
