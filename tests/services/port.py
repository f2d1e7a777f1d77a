"""A TCP port on loopback: which one, how to move it, whose it is."""

import os
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.services.error import ServiceError

HOST = "127.0.0.1"

_FIRST_FREE, _LAST_FREE = 20_000, 32_768


@dataclass(frozen=True)
class Port:
    """A port that an environment variable may move.

    Attributes:
        number: Where the server listens.
        variable: The environment variable that decides about it; None when we picked it.
    """

    number: int
    variable: str | None

    @classmethod
    def of(cls, name: str, default: int) -> Self:
        """Return the port of that name, moved by ``PRAGMATIC_DDD_<NAME>_PORT`` if that is set."""
        variable = f"PRAGMATIC_DDD_{name.upper().replace('-', '_')}_PORT"
        return cls(int(os.environ.get(variable) or default), variable)

    @classmethod
    def free(cls, count: int = 1) -> Self:
        """Return a port that nobody has, with the ``count`` - 1 that follow it.

        Below those that the kernel gives to clients: one of these could take it at any time.

        Raises:
            ServiceError: There is none.
        """
        with cls.kept(count) as port:
            return port

    @classmethod
    @contextmanager
    def kept(cls, count: int = 1) -> Iterator[Self]:
        """Keep such a port, and those that follow it, from whoever else looks for a free one.

        As long as the block runs, a server may listen there, end, and come back.

        Raises:
            ServiceError: There is none.
        """
        candidates = range(_FIRST_FREE, _LAST_FREE - count)
        for first in random.sample(candidates, len(candidates)):
            keepers = _keepers(range(first, first + count))
            if keepers:
                break
        else:
            raise ServiceError(f"no {count} ports in a row are free")
        try:
            yield cls(first, None)
        finally:
            for keeper in keepers:
                keeper.close()

    def beside(self, offset: int) -> Self:
        """Return the port that a server takes in addition, and that moves with this one."""
        return type(self)(self.number + offset, self.variable)

    @property
    def address(self) -> str:
        """Host and port, as clients write it."""
        return f"{HOST}:{self.number}"

    @property
    def remedy(self) -> str:
        """What to do when somebody else has it."""
        return "end that" + (f", or set {self.variable} to a free one" if self.variable else "")

    def accepts(self) -> bool:
        """Whether somebody listens there."""
        try:
            socket.create_connection((HOST, self.number), timeout=1).close()
        except OSError:
            return False
        return True

    def greeting(self, size_bytes: int) -> bytes:
        """Return the first bytes that the server says unasked; OSError when it says nothing."""
        return self.answer(b"", size_bytes)

    def answer(self, question: bytes, size_bytes: int) -> bytes:
        """Return the first bytes of what the server says to that; OSError when it says nothing."""
        with socket.create_connection((HOST, self.number), timeout=2) as connection:
            connection.sendall(question)
            return connection.recv(size_bytes, socket.MSG_WAITALL)

    def listener(self) -> int | None:
        """Return the pid of who listens there; None when nobody does or we may not see it."""
        sockets = set(_listening(self.number))
        for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
            with suppress(OSError):
                if str(descriptor.readlink()) in sockets:
                    return int(descriptor.parts[2])
        return None

    def owner(self) -> str:
        """Say who listens there, as far as the system lets us see it."""
        pid = self.listener()
        with suppress(OSError):
            process = Path("/proc") / str(pid)
            program = (process / "comm").read_text().strip()
            return f"{program} (pid {pid}) in {(process / 'cwd').readlink()}"
        return "another process"


def _keepers(numbers: range) -> list[socket.socket]:
    """Return a socket on each of the ports that does not listen; none if somebody has one of them.

    A server asks for an address that may be used again, and gets it: so does the keeper, once it
    has it. Another keeper does not ask.
    """
    keepers = []
    for number in numbers:
        keeper = socket.socket()
        keepers.append(keeper)
        try:
            keeper.bind((HOST, number))
        except OSError:
            for each in keepers:
                each.close()
            return []
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return keepers


def _listening(number: int) -> list[str]:
    """Return the sockets that listen on the port, as links in ``/proc/<pid>/fd`` name them."""
    listen, found = "0A", []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == listen and int(fields[1].rpartition(":")[2], 16) == number:
                    found.append(f"socket:[{fields[9]}]")
    return found
