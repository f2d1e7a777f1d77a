"""Port: what is counted.

A closed vocabulary with bounded labels: event types, paths, subscriber codes, never ids. A
message that is stored is later counted by one ``published`` or ``dead_lettered``, and by another
one after a replay. A process that is killed between writing and counting has not counted.
"""

import enum
from abc import abstractmethod
from typing import Protocol

from pragmatic_ddd.ports.outbox_message import Backlog


class PublishPath(enum.StrEnum):
    """Who published: the storing process at once, the relay, or ``publish`` without an outbox."""

    EAGER = "eager"
    RELAY = "relay"
    DIRECT = "direct"


class IEventMetrics(Protocol):
    """Counts. Safe to call from any thread; returns at once; never raises."""

    @abstractmethod
    def published(self, event_type: str, path: PublishPath) -> None:
        """A message was confirmed by the broker and, behind an outbox, recorded as SENT.

        A confirmation whose mark came too late is not counted here: whoever owns the row by then
        counts it, when it is sent again.
        """

    @abstractmethod
    def publish_failed(self, event_type: str, path: PublishPath, *, counted: bool) -> None:
        """A send failed; ``counted`` says whether it burned an attempt."""

    @abstractmethod
    def dead_lettered(self, event_type: str) -> None:
        """A message ended FAILED: a person must look at it.

        Rather twice than not at all: it is counted, too, where the row was lost meanwhile.
        """

    @abstractmethod
    def left_to_relay(self, count: int) -> None:
        """The eager path did not push messages that it had been told of."""

    @abstractmethod
    def lease_lost(self, path: PublishPath, count: int) -> None:
        """Results were refused, because another one owns the rows by now."""

    @abstractmethod
    def consumed(self, event_type: str, subscriber: str) -> None:
        """A subscriber has handled an event."""

    @abstractmethod
    def consume_failed(self, event_type: str, subscriber: str, *, final: bool) -> None:
        """A subscriber failed; ``final`` says that it will not be called again for this event."""

    @abstractmethod
    def relay_failed(self) -> None:
        """A round of the relay, or a chore beside it, ended with an error."""

    @abstractmethod
    def backlog(self, backlog: Backlog) -> None:
        """What is not yet sent, measured now and then; its age is the first thing to alert on."""
