"""PostgreSQL, whose only user is postgres, without a password."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.services import program
from tests.services.folder import STATE, make_whole
from tests.services.port import HOST, Port
from tests.services.process import Process, processes_in, run

_USER = "postgres"


class PostgreSql:
    """One cluster of its own; Debian's ``main`` is left alone."""

    name = "postgresql"
    stop_signal = signal.SIGINT  # SIGTERM would wait until every client has left

    def __init__(self) -> None:
        self._port = Port.of(self.name, 54329)
        self.folder = STATE / self.name
        self._data = self.folder / "data"

    @property
    def url(self) -> str:
        return f"postgresql://{_USER}@{self._port.address}/postgres"

    @property
    def ports(self) -> Sequence[Port]:
        return [self._port]

    @property
    def packages(self) -> Mapping[str, str]:
        return dict.fromkeys(("postgres", "initdb", "pg_isready"), "postgresql")

    def prepare(self) -> None:
        make_whole(self._data, self._create)
        self._remove_lock_of_the_dead()

    def command(self) -> Sequence[str]:
        return [
            *self._as_its_user(),
            program.path("postgres"),
            "-D",
            str(self._data),
            "-h",
            HOST,
            "-p",
            str(self._port.number),
            "-k",
            "",  # no socket file: its path may be longer than Linux allows
            "-c",
            "max_connections=200",
        ]

    def environment(self) -> Mapping[str, str]:
        return {}

    def answers(self) -> bool:
        # Without a user each question would leave an error in the server's log.
        question = ["-q", "-h", HOST, "-p", str(self._port.number), "-U", _USER]
        return subprocess.run([program.path("pg_isready"), *question], check=False).returncode == 0

    def clean_up(self) -> None:
        """End the sessions of a killed server: they live on, and would forbid its next start."""
        for process in processes_in(self._data, "postgres"):
            process.send(signal.SIGKILL)

    def _create(self, data: Path) -> None:
        if os.geteuid() == 0:
            shutil.chown(data, _USER, _USER)
        options = ["--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"]
        run(
            [
                *self._as_its_user(),
                program.path("initdb"),
                f"--pgdata={data}",
                f"--username={_USER}",
                *options,
            ],
            log=self.folder / "log",
        )

    def _remove_lock_of_the_dead(self) -> None:
        """A killed server that nobody has reaped yet counts as running for PostgreSQL."""
        lock = self._data / "postmaster.pid"
        if lock.exists() and Process.of(int(lock.read_text().split()[0])) is None:
            lock.unlink()

    def _as_its_user(self) -> list[str]:
        """Return what root puts before a command: PostgreSQL refuses to run as root."""
        if os.geteuid() != 0:
            return []
        change = ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups"]
        if all(parent.stat().st_mode & 0o001 for parent in self._data.parents):
            return change
        # A folder above is closed to others, such as root's own: keep the right to pass it.
        return [*change, "--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
