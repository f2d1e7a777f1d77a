import datetime as dt
import logging

import attrs
import pytest

from pragmatic_ddd.application.inbox import CachedInbox
from pragmatic_ddd.errors import InfrastructureError
from pragmatic_ddd.ports import Arrival, EventGap, Handling
from pragmatic_ddd.testing.inbox_binding import a_place, an_arrival
from pragmatic_ddd_local import InMemoryInboxCache, InMemoryTransactionOperations
from pragmatic_ddd_local.inbox import Handler, InMemoryInbox, InMemoryWatermarkInbox


@attrs.define
class CountingInbox:
    """An inbox that counts how often it is asked."""

    inbox: InMemoryInbox | InMemoryWatermarkInbox = attrs.field(factory=InMemoryInbox)
    asked: int = 0

    def handle(
        self, arrival: Arrival, handler: Handler, *, past_gap: bool = False
    ) -> Handling | EventGap:
        self.asked += 1
        return self.inbox.handle(arrival, handler, past_gap=past_gap)


@attrs.define
class FailingCache:
    """A cache that cannot be reached."""

    asked: int = 0

    def is_known(self, subscriber: str, message_id: str) -> bool:
        self.asked += 1
        raise InfrastructureError("no cache")

    def note(self, subscriber: str, message_id: str) -> None:
        self.asked += 1
        raise InfrastructureError("no cache")


def _do_nothing(_: InMemoryTransactionOperations) -> None: ...


def _fail(_: InMemoryTransactionOperations) -> None:
    raise RuntimeError


def test_what_is_known_does_not_reach_the_inbox() -> None:
    inbox = CountingInbox()
    cached = CachedInbox(inbox=inbox, cache=InMemoryInboxCache())

    answers = [cached.handle(an_arrival(), _do_nothing) for _ in range(3)]

    assert answers == [Handling.HANDLED, Handling.REPEATED, Handling.REPEATED]
    assert inbox.asked == 1


def test_what_has_failed_is_not_known() -> None:
    cached = CachedInbox(inbox=InMemoryInbox(), cache=InMemoryInboxCache())

    with pytest.raises(RuntimeError):
        cached.handle(an_arrival(), _fail)

    assert cached.handle(an_arrival(), _do_nothing) is Handling.HANDLED


def test_the_cache_is_told_after_the_commit() -> None:
    cache = InMemoryInboxCache()
    known_inside: list[bool] = []
    arrival = an_arrival()

    CachedInbox(inbox=InMemoryInbox(), cache=cache).handle(
        arrival,
        lambda _: known_inside.append(cache.is_known(arrival.subscriber, arrival.message_id)),
    )

    assert known_inside == [False]
    assert cache.is_known(arrival.subscriber, arrival.message_id)


def test_a_gap_is_not_known_as_handled() -> None:
    cached = CachedInbox(inbox=InMemoryWatermarkInbox(), cache=InMemoryInboxCache())
    second = an_arrival(2, previous=a_place(1))

    assert isinstance(cached.handle(second, _do_nothing), EventGap)
    cached.handle(an_arrival(1), _do_nothing)

    assert cached.handle(second, _do_nothing) is Handling.HANDLED


def test_past_a_gap_goes_through() -> None:
    cached = CachedInbox(inbox=InMemoryWatermarkInbox(), cache=InMemoryInboxCache())

    answer = cached.handle(an_arrival(2, previous=a_place(1)), _do_nothing, past_gap=True)

    assert answer is Handling.HANDLED


def test_who_died_before_the_cache_was_told_finds_the_mark() -> None:
    inbox = InMemoryInbox()
    inbox.handle(an_arrival(), _do_nothing)
    inbox_behind_an_empty_cache = CachedInbox(inbox=inbox, cache=InMemoryInboxCache())

    assert inbox_behind_an_empty_cache.handle(an_arrival(), _fail) is Handling.REPEATED


def test_a_cache_that_fails_is_no_obstacle_and_is_left_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cache = FailingCache()
    cached = CachedInbox(inbox=InMemoryInbox(), cache=cache, rest=dt.timedelta(hours=1))

    with caplog.at_level(logging.WARNING):
        answers = [cached.handle(an_arrival(of=of), _do_nothing) for of in ("1", "1", "2")]

    assert answers == [Handling.HANDLED, Handling.REPEATED, Handling.HANDLED]
    assert cache.asked == 1
    assert len(caplog.records) == 1
    assert "no cache" in caplog.text


def test_a_cache_that_cannot_be_told_is_no_obstacle() -> None:
    @attrs.define
    class ForgetfulCache(FailingCache):
        def is_known(self, subscriber: str, message_id: str) -> bool:
            return False

    cached = CachedInbox(
        inbox=InMemoryInbox(), cache=ForgetfulCache(), rest=dt.timedelta(milliseconds=0)
    )

    assert cached.handle(an_arrival(), _do_nothing) is Handling.HANDLED
    assert cached.handle(an_arrival(), _do_nothing) is Handling.REPEATED


def test_a_cache_is_asked_again_after_its_rest() -> None:
    cache = FailingCache()
    cached = CachedInbox(inbox=InMemoryInbox(), cache=cache, rest=dt.timedelta())

    cached.handle(an_arrival(), _do_nothing)

    assert cache.asked == 2


def test_an_error_of_the_program_is_not_swallowed() -> None:
    class BrokenCache(FailingCache):
        def is_known(self, subscriber: str, message_id: str) -> bool:
            raise ZeroDivisionError

    cached = CachedInbox(inbox=InMemoryInbox(), cache=BrokenCache())

    with pytest.raises(ZeroDivisionError):
        cached.handle(an_arrival(), _do_nothing)


def test_a_cache_in_memory_forgets_what_was_not_asked_for_longest() -> None:
    cache = InMemoryInboxCache(2)
    for message_id in ("1", "2"):
        cache.note("ship", message_id)
    cache.is_known("ship", "1")

    cache.note("ship", "3")

    assert [cache.is_known("ship", one) for one in ("1", "2", "3")] == [True, False, True]


def test_a_cache_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="most = 0"):
        InMemoryInboxCache(0)
