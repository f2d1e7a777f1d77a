"""A server with a life: started, stopped, killed, recognised after the process that did it is gone.

    build/services/<name>/pid     pid and start time while it runs
    build/services/<name>/log     what the server prints
    build/services/<name>/data    what it keeps; stays when it stops
    build/services/<name>/tmp     its temporary files; emptied when it starts

A service is whoever the pid file names, in this checkout; it never touches another's.
"""

import datetime as dt
import shutil
import signal
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.services.error import ServiceError
from tests.services.folder import TEMPORARY, exclusive
from tests.services.port import Port
from tests.services.process import Process, holds, launch
from tests.services.server import IServer

START_LIMIT = dt.timedelta(minutes=3)
STOP_LIMIT = dt.timedelta(seconds=45)


class ServiceState(StrEnum):
    """How far a service is."""

    UP = "up"
    STARTING = "starting"
    DOWN = "down"
    TAKEN = "taken"  # it is down, and somebody else has one of its ports


@dataclass(frozen=True)
class Service:
    """Starts and ends one server. Safe to call from several threads and processes."""

    server: IServer

    @property
    def name(self) -> str:
        """What users call it."""
        return self.server.name

    @property
    def url(self) -> str:
        """Where clients find it."""
        return self.server.url

    @property
    def folder(self) -> Path:
        """Where its state and its log are."""
        return self.server.folder

    @property
    def log(self) -> Path:
        """What it printed, over all of its lives."""
        return self.folder / "log"

    @property
    def process(self) -> Process | None:
        """The server's process, or None when it is down."""
        return Process.read(self.folder / "pid")

    @property
    def state(self) -> ServiceState:
        """How far it is, asked now."""
        if self.process is None:
            return ServiceState.DOWN if self.taken_port is None else ServiceState.TAKEN
        return ServiceState.UP if self._answers() else ServiceState.STARTING

    @property
    def taken_port(self) -> Port | None:
        """The first of its ports that answers: somebody else's, while the service is down."""
        return next((port for port in self.server.ports if port.accepts()), None)

    def start(self) -> None:
        """Start it unless it runs, and return once it answers.

        Raises:
            ServiceError: It is not up; what runs of it is left for the next ``start`` or ``stop``.
        """
        with exclusive(self.folder):
            process = self.process or self._launch()
            holds(lambda: not process.is_alive() or self._answers(), START_LIMIT)
            if not process.is_alive():
                raise ServiceError("it ended while starting", self.log)
            if not self._answers():
                raise ServiceError(f"it does not answer after {START_LIMIT}", self.log)

    def stop(self) -> None:
        """End it cleanly, if it runs, and return once it has ended; what it stored stays.

        Raises:
            ServiceError: It did not obey in time and runs on.
        """
        self._end(self.server.stop_signal)

    def kill(self) -> None:
        """End it at once, if it runs, as a crash would; ``start`` recovers what it stored."""
        self._end(signal.SIGKILL)

    def _launch(self) -> Process:
        self.server.clean_up()
        port = self.taken_port
        if port is not None:
            raise ServiceError(f"port {port.number} is taken by {port.owner()}; {port.remedy}")
        temporary = self.folder / TEMPORARY
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(exist_ok=True)
        self.server.prepare()
        process = launch(
            self.server.command(),
            cwd=self.folder,
            log=self.log,
            environment={"TMPDIR": str(temporary), **self.server.environment()},
        )
        process.write(self.folder / "pid")
        return process

    def _answers(self) -> bool:
        try:
            return self.server.answers()
        except OSError:
            return False

    def _end(self, how: signal.Signals) -> None:
        with exclusive(self.folder):
            process = self.process
            if process is not None:
                process.send(how)
                if not process.has_ended(STOP_LIMIT):
                    raise ServiceError(
                        f"it did not end within {STOP_LIMIT}; "
                        f"try: python3 tests/services kill {self.name}"
                    )
            self.server.clean_up()
            (self.folder / "pid").unlink(missing_ok=True)
