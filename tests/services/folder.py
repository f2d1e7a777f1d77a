"""Where services keep their state: folders made whole or not at all, held by one at a time."""

import fcntl
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

#: Everything that a service leaves behind is in here, one folder each.
STATE = Path(__file__).resolve().parents[2] / "build" / "services"

#: In the folder of a service: its temporary files; there, and empty, whenever it starts.
TEMPORARY = "tmp"


def make_whole(directory: Path, fill: Callable[[Path], None]) -> None:
    """Create a directory unless it exists; an interrupted ``fill`` leaves none behind."""
    if directory.exists():
        return
    part = directory.with_name(directory.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    fill(part)
    part.rename(directory)


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Hold the directory, which is created, against every other thread and process."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
