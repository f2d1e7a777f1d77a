"""MariaDB with a user ``test``, its password ``test`` and a database ``test``."""

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.services import program
from tests.services.folder import STATE, TEMPORARY, make_whole
from tests.services.port import HOST, Port
from tests.services.process import run

_SET_UP = """\
CREATE DATABASE IF NOT EXISTS test;
CREATE USER IF NOT EXISTS test@'%' IDENTIFIED BY 'test';
GRANT ALL ON *.* TO test@'%';
"""
_PROTOCOL_VERSION = b"\x0a"


class MariaDb:
    """One server with the defaults it was built with, character set included."""

    name = "mariadb"
    stop_signal = signal.SIGTERM

    def __init__(self) -> None:
        self._port = Port.of(self.name, 33069)
        self.folder = STATE / self.name
        self._data = self.folder / "data"
        self._set_up = self.folder / "set_up.sql"

    @property
    def url(self) -> str:
        return f"mysql://test:test@{self._port.address}/test"

    @property
    def ports(self) -> Sequence[Port]:
        return [self._port]

    @property
    def packages(self) -> Mapping[str, str]:
        return {"mariadbd": "mariadb-server", "mariadb-install-db": "mariadb-server"}

    def prepare(self) -> None:
        make_whole(self._data, self._create)
        self._set_up.write_text(_SET_UP)

    def command(self) -> Sequence[str]:
        return [
            program.path("mariadbd"),
            "--no-defaults",
            f"--datadir={self._data}",
            # Its own: a server that starts deletes the temporary tables of others there.
            f"--tmpdir={self.folder / TEMPORARY}",
            f"--bind-address={HOST}",
            f"--port={self._port.number}",
            "--socket=mariadb.sock",  # within the data, so that a long path does not matter
            "--skip-name-resolve",
            f"--init-file={self._set_up}",
            *self._as_root(),
        ]

    def environment(self) -> Mapping[str, str]:
        return {}

    def answers(self) -> bool:
        return self._port.greeting(5)[4:] == _PROTOCOL_VERSION

    def clean_up(self) -> None:
        return

    def _create(self, data: Path) -> None:
        options = ["--skip-test-db", "--auth-root-authentication-method=normal"]
        run(
            [
                program.path("mariadb-install-db"),
                "--no-defaults",
                f"--datadir={data}",
                *options,
                *self._as_root(),
            ],
            log=self.folder / "log",
        )

    def _as_root(self) -> list[str]:
        return ["--user=root"] if os.geteuid() == 0 else []
