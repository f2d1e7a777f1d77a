"""Takes out one guard after another and looks whether its test fails.

    python -m tests.acceptance.guards                         # all of them
    python -m tests.acceptance.guards G4 'out of its lease'   # those of a promise, or by its words

Works on a copy of the checkout in ``build/guards``. The services must be up. Without a guard a
test may hang: then its time limit is what fails it.
"""

import argparse
import os
import shutil
import subprocess
import sys

from tests import servers
from tests.acceptance.guards.guard import ROOT, Guard

_COPY = ROOT / "build" / "guards"
_TIMEOUT_SECONDS = 60
_PASSED, _FAILED = 0, 1


def main() -> int:
    guards = _chosen(Guard.all())
    _copy_checkout()
    if _run(*dict.fromkeys(guard.test for guard in guards)) != _PASSED:
        print("the tests fail with every guard in its place: run `make test` first")
        return 1
    problems = 0
    for guard in guards:
        verdict = _verdict(guard)
        problems += verdict != "holds"
        print(f"{guard.promise:4} {verdict:22} {guard.guard}", flush=True)
    print(f"{len(guards) - problems} of {len(guards)} guards are held by their tests")
    return 1 if problems else 0


def _chosen(guards: list[Guard]) -> list[Guard]:
    """Return what the arguments ask for; end the program if one of them asks for nothing."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.acceptance.guards",
        description="Takes one guard after another out of a copy of the code, and sees its test "
        "fail.",
    )
    parser.add_argument(
        "wanted",
        nargs="*",
        metavar="GUARD",
        help="a promise, such as G4, or some of a guard's words, in quotes; or all",
    )
    wanted = parser.parse_args().wanted
    for words in wanted:
        if not any(_is_meant(one, words) for one in guards):
            known = "\n".join(f"  {one.promise:4}{one.guard}" for one in guards)
            parser.error(f"no guard is called {words!r}; there are\n{known}")
    return [one for one in guards if not wanted or any(_is_meant(one, each) for each in wanted)]


def _is_meant(guard: Guard, words: str) -> bool:
    return words == guard.promise or words in guard.guard


def _copy_checkout() -> None:
    shutil.rmtree(_COPY, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            target = _COPY / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)


def _verdict(guard: Guard) -> str:
    file = _COPY / guard.file
    whole = file.read_text()
    try:
        file.write_text(guard.taken_out(_COPY))
        status = _run(guard.test)
    finally:
        file.write_text(whole)
    if status == _PASSED:
        return "NO TEST FAILS"
    return "holds" if status == _FAILED else f"PYTEST ENDS BY {status}"


def _run(*tests: str) -> int:
    library = servers.rocketmq_library()
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"),
            *(f"--timeout={_TIMEOUT_SECONDS}", *tests),
        ],
        cwd=_COPY,
        env=os.environ
        | {
            "PYTHONPATH": f"{_COPY}:{_COPY / 'adapters'}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PRAGMATIC_DDD_SERVICES": "required",
        }
        | ({} if library is None else {"PRAGMATIC_DDD_ROCKETMQ_LIBRARY": str(library)}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
