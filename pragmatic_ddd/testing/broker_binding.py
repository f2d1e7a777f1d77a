"""What a broker has to provide for its contract: a topic, a group, and ways to disturb it.

event managers ──▶ a topic that no other test uses ──▶ event managers of one group
                        ▲               │
  send_foreign: what is no event        └──▶ messages: read without an event manager
"""

import datetime as dt
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import ClassVar, Protocol

import attrs
import pytest

from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import EventPublishError
from pragmatic_ddd.ports import (
    IEventManager,
    IEventMetrics,
    IOutboxStore,
    IStoredEventPublisher,
    OutboxMessage,
)
from pragmatic_ddd.testing.event_manager_binding import EventManagerBinding, ParcelSent
from pragmatic_ddd.testing.told_metrics import ToldMetrics

Stored = Callable[[DomainEvent], OutboxMessage]

_GLANCE_SECONDS = 0.02


@attrs.frozen(kw_only=True)
class BrokerMessage:
    """A message as any client of the broker reads it.

    Attributes:
        attributes: Its CloudEvents attributes by their plain names (``id``, ``type``,
            ``subject``, ``aggregateversion`` …): without the prefix that they have on this broker.
        body: Its content.
    """

    attributes: Mapping[str, str]
    body: bytes


class IBrokerUnderTest(Protocol):
    """A real broker, with a topic and a consumer group that no other test uses.

    The topic exists already, where topics have to be made. What was made is taken down after the
    test by the fixture that returns this, event managers first.
    """

    @property
    @abstractmethod
    def topic(self) -> str:
        """Where the event managers publish to, and consume from."""

    @property
    @abstractmethod
    def group(self) -> str:
        """Which consumer group the event managers belong to."""

    @abstractmethod
    def manager(
        self,
        *,
        topic: str | None = None,
        group: str | None = None,
        metrics: IEventMetrics | None = None,
    ) -> IEventManager:
        """Return a new event manager, not started; each call makes another member of the group.

        Its settings: ``attempts`` tries and ``delay`` as the binding says, pauses of about 100 ms
        between tries, at most 2 s for handlers at its shutdown. Its serializer knows
        ``CONTRACT_EVENTS``.

        Args:
            topic: Topic of all events, where it is not that of the test.
            group: Consumer group, where it is not that of the test.
            metrics: What it tells what it counts.
        """

    @abstractmethod
    def messages(self, topic: str | None = None) -> Sequence[BrokerMessage]:
        """Return what lies on a topic now, oldest first within each aggregate; consumes nothing.

        Args:
            topic: Which one, where it is not that of the test.
        """

    @abstractmethod
    def dead_letters(self) -> Sequence[BrokerMessage]:
        """Return the dead letters of the test's group; empty where there is none yet."""

    @abstractmethod
    def send_foreign(self, body: bytes, attributes: Mapping[str, str]) -> None:
        """Put a message on the test's topic as a stranger's client would.

        It must lie where the events of aggregate ``p-1`` lie, if the broker has partitions: what
        is published after it comes after it.

        Args:
            body: Its content.
            attributes: By their plain names, as in ``BrokerMessage``; possibly none.
        """

    @abstractmethod
    def outage(self) -> AbstractContextManager[None]:
        """Be out of reach of the event managers as long as the block runs.

        Connections are cut and new ones refused; what lies on topics stays. Not called where
        the binding says that it ``can_be_cut_off`` not.
        """

    @abstractmethod
    def silence(self) -> AbstractContextManager[None]:
        """Answer nothing as long as the block runs, though connections stay open.

        Not called where the binding says that it ``can_be_silenced`` not.
        """


@attrs.frozen(kw_only=True)
class ContractOutbox:
    """An outbox with a relay, for what a broker means to its rows.

    Attributes:
        store: An empty outbox.
        relay_once: Runs one round of a relay that publishes through what it is given.
    """

    store: IOutboxStore
    relay_once: Callable[[IStoredEventPublisher], object]


class BrokerBinding(EventManagerBinding):
    """Says what the broker can do, and provides it with three fixtures.

    Attributes:
        patience: How long anything may take to arrive, or to go on after an outage.
        attempts: How often its event managers try an event before it is a dead letter; at
            least 2.
        delay: After which its event managers call delayed subscribers; ``None``: they have no
            delayed delivery.
        largest_body_bytes: A larger body is refused for good; ``None``: none that could be tried.
        misnamed_topic: A name that no topic of this broker can have; ``None``: any will do.
        error_of_missing_topic: What publishing to a topic that does not exist raises; ``None``:
            it comes into being.
        error_of_unauthorised: What publishing raises for who may not write.
        keeps_for_new_groups: Whether a group that is new gets what was published before.
        hands_over: Whether what a shut down event manager has left goes to the next member at
            once; else when its process ends.
        can_be_cut_off: Whether ``outage`` works.
        can_be_silenced: Whether ``silence`` works.
    """

    works_in_process: ClassVar[bool] = False
    patience: ClassVar[dt.timedelta] = dt.timedelta(seconds=30)
    attempts: ClassVar[int] = 3
    delay: ClassVar[dt.timedelta | None] = dt.timedelta(seconds=1)
    largest_body_bytes: ClassVar[int | None] = None
    misnamed_topic: ClassVar[str | None] = None
    error_of_missing_topic: ClassVar[type[EventPublishError] | None] = None
    error_of_unauthorised: ClassVar[type[EventPublishError]] = EventPublishError
    keeps_for_new_groups: ClassVar[bool] = True
    hands_over: ClassVar[bool] = True
    can_be_cut_off: ClassVar[bool] = True
    can_be_silenced: ClassVar[bool] = True

    @pytest.fixture
    @abstractmethod
    def broker(self) -> IBrokerUnderTest:
        """Return the broker; it is made anew for each test."""

    @pytest.fixture
    @abstractmethod
    def stored(self) -> Stored:
        """Return what encodes an event as the application does."""

    @pytest.fixture
    @abstractmethod
    def outbox(self) -> ContractOutbox:
        """Return an empty outbox, and a relay."""

    @pytest.fixture
    def manager(self, broker: IBrokerUnderTest) -> IEventManager:
        """Return an event manager that is not started, as ``EventManagerContract`` asks for."""
        return broker.manager()

    @pytest.fixture
    def unauthorised(self) -> IEventManager | None:
        """Return an event manager on the test's topic that may log in and not write.

        It is not started. ``None``: the broker asks nobody who he is.
        """
        return None

    @pytest.fixture
    def metrics(self) -> ToldMetrics:
        """What an event manager was told to count."""
        return ToldMetrics()

    @property
    def _seconds(self) -> float:
        return self.patience.total_seconds()

    def _wait_until(self, is_so: Callable[[], bool], shown: Callable[[], object]) -> None:
        """Wait for something that nobody tells; fail with what is shown in place of it."""
        deadline = time.monotonic() + self._seconds
        while not is_so():
            assert time.monotonic() < deadline, f"not in time: {shown()}"
            time.sleep(_GLANCE_SECONDS)

    def _only_where_members_hand_over(self) -> None:
        if not self.hands_over:
            pytest.skip("a member keeps its share until its process ends")


def parcels(of: str, count: int) -> list[ParcelSent]:
    """Return events of one aggregate, numbered from 0."""
    return [ParcelSent(aggregate_id=of, number=number) for number in range(count)]
