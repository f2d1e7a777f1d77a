"""The broker as its users see it: started, killed, started again on the same port."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import attrs

from tests.acceptance.faults.broker.server import Conduct


@attrs.define(eq=False)
class BrokerProcess:
    """Owns the process.

    Attributes:
        folder: Where the journals are.
        port: On 127.0.0.1; 0 until it was started.
    """

    folder: Path
    port: int = attrs.field(default=0, init=False)
    _process: subprocess.Popen[bytes] | None = attrs.field(default=None, init=False)

    def start(self) -> None:
        """Start it, and return when it listens."""
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.acceptance.faults.broker.server"),
                *("--folder", str(self.folder), "--port", str(self.port)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        process.stdout.close()
        if not line:
            raise RuntimeError(f"the broker did not start: exit code {process.wait()}")
        self.port = int(line)
        self._process = process

    def kill(self) -> None:
        """End it by SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self.kill()


def instruct(port: int, topic: str, conduct: Conduct) -> None:
    """Have the broker at that port treat a topic like that from now on."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        asked = {"do": "conduct", "topic": topic, "conduct": attrs.asdict(conduct)}
        connection.sendall(json.dumps(asked).encode() + b"\n")
        connection.recv(100)
