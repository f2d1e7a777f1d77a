"""Programs from Debian packages, installed without letting them start daemons of their own."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.services import program
from tests.services.error import ServiceError
from tests.services.folder import STATE, exclusive
from tests.services.process import run

_POLICY = Path("/usr/sbin/policy-rc.d")


def install(needs: Iterable[Mapping[str, str]]) -> None:
    """Install the packages of those programs that are missing.

    Args:
        needs: Package per program, once for each server.

    Raises:
        ServiceError: We may not install; the text says what the user has to.
    """
    packages = _missing(needs)
    if not packages:
        return
    if os.geteuid() != 0 or program.find("apt-get") is None:
        raise _programs_are_missing(packages)
    log = STATE / "apt.log"
    apt_get = ["apt-get", "--quiet", "--yes", "-o", "DPkg::Lock::Timeout=300"]
    silent = {"DEBIAN_FRONTEND": "noninteractive"}
    with exclusive(STATE), _no_daemons():
        run([*apt_get, "update"], log=log, environment=silent)
        run(
            [*apt_get, "install", "--no-install-recommends", *packages],
            log=log,
            environment=silent,
        )


def check(needs: Iterable[Mapping[str, str]]) -> None:
    """Install nothing, and see that nothing is missing.

    Raises:
        ServiceError: Something is; the text says what the user has to install.
    """
    packages = _missing(needs)
    if packages:
        raise _programs_are_missing(packages)


def _missing(needs: Iterable[Mapping[str, str]]) -> list[str]:
    return sorted(
        {package for need in needs for name, package in need.items() if program.find(name) is None}
    )


def _programs_are_missing(packages: Iterable[str]) -> ServiceError:
    return ServiceError(
        f"programs are missing; as root on Debian: apt-get install {' '.join(packages)}"
    )


@contextmanager
def _no_daemons() -> Iterator[None]:
    """Forbid installed packages to start their daemons, unless there is a policy already."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()
