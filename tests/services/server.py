"""Port: what one kind of server knows about itself. ``Service`` gives each of them a life."""

import signal
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tests.services.port import Port


class IServer(Protocol):
    """A server that runs in the foreground and says when it is ready."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What users call it."""

    @property
    @abstractmethod
    def folder(self) -> Path:
        """Where its state and its log are."""

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients find it."""

    @property
    @abstractmethod
    def ports(self) -> Sequence[Port]:
        """Every port that it takes."""

    @property
    @abstractmethod
    def packages(self) -> Mapping[str, str]:
        """The Debian package to install for each program that it needs."""

    @property
    @abstractmethod
    def stop_signal(self) -> signal.Signals:
        """What makes it end cleanly without waiting for its clients."""

    @abstractmethod
    def prepare(self) -> None:
        """Download, create and write what is missing. Called before each launch.

        Raises:
            ServiceError: Something could not be had; nothing half made is left.
        """

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Return the command that runs the server in the foreground, after ``prepare``."""

    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """Return what its environment has beyond ours."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether clients can use it now. An OSError means no, too."""

    @abstractmethod
    def clean_up(self) -> None:
        """End what outlives the server's own process. Called while that is not there."""
