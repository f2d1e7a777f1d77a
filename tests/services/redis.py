"""Redis, which appends each write to a file and syncs that once a second.

So a write that was confirmed outlives the server's crash, and the last second of them may not
outlive the machine's: Redis's own default, and what most installations have.
"""

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.services import program
from tests.services.folder import STATE
from tests.services.port import HOST, Port

_RESTRICTED = ["restricted", "on", ">restricted", "-@all", "+@connection"]


class Redis:
    """One server; its default user may do anything, ``restricted`` may only connect."""

    name = "redis"
    stop_signal = signal.SIGTERM
    ports_in_a_row = 1

    def __init__(self, folder: Path | None = None, port: Port | None = None) -> None:
        self.folder = folder or STATE / self.name
        self._port = port or Port.of(self.name, 63799)
        self._data = self.folder / "data"

    @property
    def url(self) -> str:
        return f"redis://{self._port.address}/0"

    @property
    def ports(self) -> Sequence[Port]:
        return [self._port]

    @property
    def packages(self) -> Mapping[str, str]:
        return {"redis-server": "redis-server"}

    def prepare(self) -> None:
        self._data.mkdir(exist_ok=True)

    def command(self) -> Sequence[str]:
        return [
            program.path("redis-server"),
            "--bind",
            HOST,
            "--port",
            str(self._port.number),
            "--dir",
            str(self._data),
            "--appendonly",
            "yes",
            "--appendfsync",
            "everysec",
            "--save",
            "",
            "--user",
            *_RESTRICTED,
        ]

    def environment(self) -> Mapping[str, str]:
        return {}

    def answers(self) -> bool:
        return self._port.answer(b"PING\r\n", 5) == b"+PONG"  # an error while it reads its file

    def clean_up(self) -> None:
        return
