"""Programs on this machine, also those that Debian keeps outside of a user's PATH."""

import os
import shutil
from pathlib import Path


def find(name: str) -> str | None:
    """Return the path of the program, or None; of PostgreSQL's the newest version."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders = [*map(str, versions), os.environ.get("PATH", os.defpath), "/usr/sbin"]
    return shutil.which(name, path=os.pathsep.join(folders))


def path(name: str) -> str:
    """Return the path of the program, or its bare name when it is not there."""
    return find(name) or name
