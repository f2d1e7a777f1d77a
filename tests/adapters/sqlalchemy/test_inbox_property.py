"""Whatever comes again, too soon, or breaks off in the middle: each effect is there once."""

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.orm import Session

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.application.event_origin import with_origin
from pragmatic_ddd.application.inbox import CachedInbox, once
from pragmatic_ddd.errors import EventGapError
from pragmatic_ddd.ports import EventPlace, IInbox, OutboxMessage
from pragmatic_ddd.ports.event_place import BEFORE_ALL
from pragmatic_ddd.ports.message_headers import AGGREGATE_EPOCH, PREVIOUS_PLACE
from pragmatic_ddd_local import InMemoryInboxCache
from pragmatic_ddd_sqlalchemy import create_memory_engine
from tests.inboxes import InboxDatabase, inbox_database


class Counted(DomainEvent, name="test.inbox.counted"):
    number: int


class ProcessDiedError(BaseException):
    """Passes by everything that handles errors."""


@attrs.frozen
class Delivery:
    """One event, by its number, and what becomes of its delivery."""

    number: int
    fate: str


FATES = ("handled", "handler fails", "process dies", "process dies before its last step")


def _histories() -> st.SearchStrategy[list[Counted]]:
    """Draw the events of some aggregates: versions with gaps, several events, ids used again."""
    change = st.tuples(
        st.sampled_from(["a", "b"]), st.integers(1, 3), st.integers(1, 3), st.booleans()
    )
    return st.lists(change, min_size=1, max_size=5).map(_history)


def _history(changes: list[tuple[str, int, int, bool]]) -> list[Counted]:
    events: list[Counted] = []
    last: dict[str, EventPlace] = {}
    for of, step, count, is_new in changes:
        before = last.get(of, BEFORE_ALL)
        begins_anew = is_new and before != BEFORE_ALL
        version = 1 if begins_anew else before.version + step
        for index in range(count):
            place = EventPlace(epoch=before.epoch + begins_anew, version=version, index=index)
            begins_anew = False
            events.append(_brought(len(events), of, place, before))
            before = place
        last[of] = before
    return events


def _brought(number: int, of: str, place: EventPlace, before: EventPlace) -> Counted:
    event = Counted(aggregate_id=of, event_id=f"e{number}", number=number)
    event = event.placed_at(place.version, place.index)
    message = OutboxMessage(
        message_id=event.event_id,
        aggregate_type="test.counted",
        aggregate_id=of,
        aggregate_version=place.version,
        event_index=place.index,
        event_type=event.event_type,
        payload=b"{}",
        headers={PREVIOUS_PLACE: str(before), AGGREGATE_EPOCH: str(place.epoch)},
    )
    return with_origin(event, message)


@st.composite
def _stories(draw: st.DrawFn) -> tuple[list[Counted], list[Delivery]]:
    events = draw(_histories())
    delivery = st.builds(
        Delivery, number=st.integers(0, len(events) - 1), fate=st.sampled_from(FATES)
    )
    return events, draw(st.lists(delivery, max_size=20))


@attrs.define(eq=False)
class Consumer:
    """Handles deliveries, and fails as it is told."""

    database: InboxDatabase
    inbox: IInbox[Session]
    fate: str = "handled"
    subscriber: Callable[[Counted], None] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.subscriber = once(self.inbox, "count", self.handle)

    def handle(self, event: Counted, session: Session) -> None:
        if self.fate == "process dies":
            raise ProcessDiedError
        self.database.write(session, str(event.number))
        if self.fate == "handler fails":
            raise ValueError("told to")
        if self.fate == "process dies before its last step":
            raise ProcessDiedError

    def take(self, event: Counted, fate: str = "handled") -> bool:
        """Take a delivery; return whether it is acknowledged."""
        self.fate = fate
        try:
            self.subscriber(event)
        except (ProcessDiedError, ValueError, EventGapError):
            return False
        return True


INBOXES: dict[str, Callable[[InboxDatabase], IInbox[Any]]] = {
    "messages": lambda database: database.message_inbox(),
    "watermarks": lambda database: database.watermark_inbox(),
    "messages behind a cache": lambda database: CachedInbox(
        inbox=database.message_inbox(), cache=InMemoryInboxCache(2)
    ),
    "watermarks behind a cache": lambda database: CachedInbox(
        inbox=database.watermark_inbox(), cache=InMemoryInboxCache(2)
    ),
}


@pytest.fixture(scope="module")
def database() -> Iterator[InboxDatabase]:
    with inbox_database(create_memory_engine()) as database:
        yield database


@pytest.mark.parametrize("kind", INBOXES)
@given(story=_stories())
@settings(deadline=None)
def test_each_effect_is_there_once(
    database: InboxDatabase, kind: str, story: tuple[list[Counted], list[Delivery]]
) -> None:
    events, deliveries = story
    database.clear()
    consumer = Consumer(database, INBOXES[kind](database))
    for one in deliveries:
        consumer.take(events[one.number], one.fate)
    unacknowledged = list(events)
    while unacknowledged:  # a broker brings it again until it is acknowledged
        unacknowledged = [one for one in unacknowledged if not consumer.take(one)]

    numbers = [int(effect) for effect in database.committed_effects()]

    assert sorted(numbers) == list(range(len(events)))
    if kind.startswith("watermarks"):
        for of in ("a", "b"):
            own = [n for n in numbers if events[n].aggregate_id == of]
            assert own == sorted(own)
        assert database.count(database.watermarks) == len({one.aggregate_id for one in events})
