"""A topic, a group and its members, and what their subscribers were called with."""

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import attrs

from pragmatic_ddd_kafka import KafkaEventManager
from tests.adapters.kafka.shop import (
    OrderPaid,
    Topics,
    a_stored_event,
    an_event_manager,
    wait_until,
)

Before = Callable[[OrderPaid], object]


def _nothing(_: OrderPaid) -> None: ...


@attrs.define(eq=False)
class Recorded:
    """Every call that did not fail: by whom, for which aggregate, with which number."""

    calls: list[tuple[str, str, int]] = attrs.field(factory=list, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    def by(self, member: str, before: Before = _nothing) -> Callable[[OrderPaid], None]:
        """Return a handler that records; what ``before`` raises is a failure."""

        def handle(event: OrderPaid) -> None:
            before(event)
            with self._lock:
                self.calls.append((member, event.aggregate_id, event.total))

        return handle

    def numbers(self, member: str | None = None) -> dict[str, list[int]]:
        """Return the numbers by aggregate, in the order of the calls."""
        found: dict[str, list[int]] = defaultdict(list)
        for who, aggregate_id, number in list(self.calls):
            if member in (None, who):
                found[aggregate_id].append(number)
        return found

    def members(self) -> set[str]:
        """Return who was called."""
        return {who for who, _, _ in list(self.calls)}

    def wait_for(self, count: int) -> None:
        """Wait until so many different events have been handled."""
        wait_until(
            lambda: len({call[1:] for call in list(self.calls)}) >= count,
            lambda: f"{len(self.calls)} of {count} calls",
        )


@attrs.define(eq=False)
class Stage:
    """What a test of consumers plays on.

    Attributes:
        topics: The broker's topics.
        topic: Where events are published to.
        group: The group, which has topics for dead letters and delayed copies.
        events: Publishes.
        members: Where members are kept until the end.
        settings: Settings of every member.
        recorded: What their subscribers were called with.
    """

    topics: Topics
    topic: str
    group: str
    events: KafkaEventManager
    members: ExitStack
    settings: Mapping[str, Any] = attrs.field(factory=dict)
    recorded: Recorded = attrs.field(factory=Recorded, init=False)

    def join(
        self,
        name: str = "a",
        before: Before = _nothing,
        **changes: Any,  # noqa: ANN401
    ) -> KafkaEventManager:
        """Start a member with one subscriber, which records its calls under that name."""
        settings: dict[str, Any] = {"consumer_group": self.group, **self.settings, **changes}
        manager = an_event_manager(self.topic, **settings)
        manager.register_subscriber("stock", OrderPaid, self.recorded.by(name, before))
        return self.members.enter_context(manager)

    def publish(self, aggregates: Sequence[str], numbers: Sequence[int]) -> None:
        """Publish an event of each aggregate for each number, in order."""
        for number in numbers:
            messages = [
                a_stored_event(
                    aggregate_id=of,
                    payload=b'{"aggregate_id": "%s", "total": %d}' % (of.encode(), number),
                )
                for of in aggregates
            ]
            for answer in self.events.publish_many(messages):
                if isinstance(answer, Exception):
                    raise answer

    def one_of_each_partition(self) -> list[str]:
        """Return ids of aggregates that lie in the three partitions of the topic."""
        found: dict[int, str] = {}
        number = 0
        while len(found) < 3:
            message = a_stored_event(aggregate_id=f"order-{number}", event_type="shop.probe")
            receipt = self.events.publish_stored(message).text
            partition = int(receipt.rpartition("/")[2].partition("@")[0])
            found.setdefault(partition, message.aggregate_id)
            number += 1
        return [found[partition] for partition in sorted(found)]

    def committed(self) -> int:
        """Return how many records of the topic are behind the group."""
        return sum(self.topics.committed(self.group, self.topic).values())
