"""What a run asks of a broker."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import attrs

from pragmatic_ddd.ports import IEventManager, IEventMetrics, IEventSerializer


@attrs.frozen(kw_only=True)
class Lane:
    """What one process of a run needs to send or to receive.

    Attributes:
        topic: Where all events of the run go.
        group: Of the consumers; ``None`` in a process that only sends.
        folder: For what a client leaves behind, such as logs.
    """

    topic: str
    group: str | None = None
    folder: str


class Broker(ABC):
    """One broker, with one client for it.

    Attributes:
        name: What reports call it.
        services: What is started for it, by the names of ``tests/services``.
        victim: The one of them that is killed in the middle of a run.
    """

    name: str
    services: Sequence[str]
    victim: str

    @property
    def python(self) -> Path:
        """The interpreter whose environment has the client."""
        return Path(sys.executable)

    @abstractmethod
    def create_topic(self, topic: str) -> None:
        """Make a topic, where topics have to be made; events of an aggregate keep their order."""

    def create_group(self, group: str) -> None:  # noqa: B027  # most brokers make it themselves
        """Make a group of consumers, where groups have to be made."""

    @abstractmethod
    def events(
        self, lane: Lane, serializer: IEventSerializer, metrics: IEventMetrics
    ) -> IEventManager:
        """Return an event manager, not yet started."""

    def leave(self) -> NoReturn:
        """End a process that has consumed."""
        sys.exit(0)
