"""How servers in Java are launched."""

from collections.abc import Sequence
from pathlib import Path

from tests.services.folder import TEMPORARY


def java(jars: Path, folder: Path, options: Sequence[str]) -> list[str]:
    """Return the beginning of a command: Java with jars; a class and its arguments are to follow.

    A JVM that is killed leaves its temporary files behind, and it does not ask ``TMPDIR``.

    Args:
        jars: The folder of the jars.
        folder: Where the server's state is.
        options: What else the JVM is told.
    """
    return [
        "java",
        *options,
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",  # a file below /tmp, whatever is set
        f"-Djava.io.tmpdir={folder / TEMPORARY}",
        "-cp",
        f"{jars}/*",
    ]
