"""The native library under the remoting client, which no Python package of Apache's brings along.

Tests take the one that a third party packed into a source distribution: x86-64 Linux, glibc 2.30
or newer. Users of the framework install Apache's own.
"""

import importlib.util
import os
import platform
import shutil
import sys
import tarfile
from collections.abc import Mapping
from ctypes.util import find_library
from pathlib import Path

from tests.services.error import ServiceError
from tests.services.folder import STATE, exclusive
from tests.services.process import run

VARIABLE = "PRAGMATIC_DDD_ROCKETMQ_LIBRARY"
FETCHED = STATE / "rocketmq" / "librocketmq.so"

_PACKAGE = "rocketmq-python-cvs"
_VERSION = "2.1.0.3"
_ARCHIVE_SHA256 = "99e4ce8008554a74193a3ad94b60f939a4666c48ffabbf4c4417a109daf1419d"


def find() -> str | None:
    """Return what ``ctypes.CDLL`` loads: the user's choice, the system's, or what was fetched."""
    chosen = os.environ.get(VARIABLE) or find_library("rocketmq")
    if chosen:
        return chosen
    return str(FETCHED) if FETCHED.exists() else None


def needs() -> Mapping[str, str]:
    """Return the Debian package per program that ``provide`` would need."""
    return {} if find() or importlib.util.find_spec("pip") else {"pip3": "python3-pip"}


def provide() -> None:
    """Fetch the library unless there is one.

    Raises:
        ServiceError: There is none, and none to fetch either.
    """
    with exclusive(FETCHED.parent):
        if find() is None:
            _fetch()


def _fetch() -> None:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise ServiceError(f"install rocketmq-client-cpp 2.2 or newer, or set {VARIABLE}")
    download = FETCHED.with_name("download")
    shutil.rmtree(download, ignore_errors=True)
    download.mkdir()
    _download(download)
    _unpack(next(download.glob("*.tar.gz")), FETCHED.with_suffix(".part"))
    FETCHED.with_suffix(".part").rename(FETCHED)
    shutil.rmtree(download)


def _download(directory: Path) -> None:
    # To know what it downloads pip runs the setup code in it: only the code that we have read.
    locked = directory / "requirements.txt"
    locked.write_text(f"{_PACKAGE}=={_VERSION} --hash=sha256:{_ARCHIVE_SHA256}\n")
    pip = [sys.executable, "-m", "pip"] if importlib.util.find_spec("pip") else ["pip3"]
    run(
        [
            *pip,
            "download",
            "--no-deps",
            "--no-binary=:all:",
            "--require-hashes",
            f"--requirement={locked}",
            f"--dest={directory}",
        ],
        log=FETCHED.with_name("pip.log"),
    )


def _unpack(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as files:
        member = files.extractfile(f"{_PACKAGE}-{_VERSION}/rocketmq/{FETCHED.name}")
        if member is None:
            raise ServiceError(f"{archive} holds no {FETCHED.name}")
        with member, target.open("wb") as library:
            shutil.copyfileobj(member, library)
