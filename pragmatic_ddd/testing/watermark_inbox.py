"""Contract of inboxes that keep the last place of each aggregate: subclass it, provide a fixture.

class TestMine(WatermarkInboxContract):
@pytest.fixture
def ground(self) -> IInboxUnderTest: ...
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import attrs
import pytest

from pragmatic_ddd.errors import ConcurrencyError, UnplacedEventError
from pragmatic_ddd.ports.inbox import Arrival, EventGap, Handling
from pragmatic_ddd.testing.inbox import HandlerFailedError, InboxContract
from pragmatic_ddd.testing.inbox_binding import IInboxUnderTest, a_place, an_arrival

_PATIENCE_SECONDS = 30


class WatermarkInboxContract(InboxContract):
    """What such an inbox promises beyond ``InboxContract``."""

    def test_events_are_handled_in_their_order(self, ground: IInboxUnderTest) -> None:
        history = _history(4)

        assert [_handle(ground, one) for one in history] == [Handling.HANDLED] * 4
        assert ground.effects() == ["1.0", "2.0", "3.0", "4.0"]

    def test_what_comes_after_a_later_event_is_dropped(self, ground: IInboxUnderTest) -> None:
        history = _history(3)
        for one in history:
            _handle(ground, one)

        assert [_handle(ground, one) for one in history] == [Handling.REPEATED] * 3
        assert len(ground.effects()) == 3

    def test_an_event_before_which_one_is_missing_is_a_gap(self, ground: IInboxUnderTest) -> None:
        first, _, third = _history(3)
        _handle(ground, first)

        answer = _handle(ground, third)

        assert answer == EventGap(arrival=third, last=a_place(1))
        assert ground.effects() == ["1.0"]

    def test_what_has_met_a_gap_is_handled_once_that_is_filled(
        self, ground: IInboxUnderTest
    ) -> None:
        first, second, third = _history(3)
        _handle(ground, first)
        _handle(ground, third)

        assert _handle(ground, second) is Handling.HANDLED
        assert _handle(ground, third) is Handling.HANDLED
        assert ground.effects() == ["1.0", "2.0", "3.0"]

    def test_the_first_event_of_all_may_be_missing(self, ground: IInboxUnderTest) -> None:
        _, second = _history(2)

        assert _handle(ground, second) == EventGap(arrival=second, last=None)
        assert ground.effects() == []

    def test_versions_without_events_are_no_gap(self, ground: IInboxUnderTest) -> None:
        _handle(ground, an_arrival(2))

        assert _handle(ground, an_arrival(7, previous=a_place(2))) is Handling.HANDLED

    def test_events_of_one_version_follow_each_other(self, ground: IInboxUnderTest) -> None:
        _handle(ground, an_arrival(1))

        third = _handle(ground, an_arrival(2, index=1, previous=a_place(2)))
        second = _handle(ground, an_arrival(2, previous=a_place(1)))

        assert isinstance(third, EventGap)
        assert second is Handling.HANDLED

    @pytest.mark.parametrize("handled", [0, 1])
    def test_past_a_gap_an_event_is_handled_and_what_was_missing_is_dropped(
        self, ground: IInboxUnderTest, handled: int
    ) -> None:
        history = _history(3)
        for one in history[:handled]:
            _handle(ground, one)

        assert _handle(ground, history[-1], past_gap=True) is Handling.HANDLED
        assert [_handle(ground, one) for one in history] == [Handling.REPEATED] * 3
        assert ground.effects()[-1] == "3.0"

    def test_past_a_gap_nothing_is_handled_twice(self, ground: IInboxUnderTest) -> None:
        for one in _history(2):
            _handle(ground, one)

        assert _handle(ground, _history(2)[0], past_gap=True) is Handling.REPEATED

    @pytest.mark.parametrize("handled", [[], [1]])
    def test_where_nobody_says_what_was_before_there_is_no_gap(
        self, ground: IInboxUnderTest, handled: list[int]
    ) -> None:
        for version in handled:
            _handle(ground, an_arrival(version))

        assert _handle(ground, an_arrival(5, previous=None)) is Handling.HANDLED
        assert _handle(ground, an_arrival(4, previous=None)) is Handling.REPEATED

    def test_what_is_behind_the_last_place_is_not_missing(self, ground: IInboxUnderTest) -> None:
        _handle(ground, an_arrival(3, previous=None))

        assert _handle(ground, an_arrival(4, previous=a_place(2))) is Handling.HANDLED

    def test_a_failed_handler_does_not_move_the_place(self, ground: IInboxUnderTest) -> None:
        first, second = _history(2)
        _handle(ground, first)

        def fail(work: object) -> None:
            ground.write(work, "half")
            raise HandlerFailedError

        with pytest.raises(HandlerFailedError):
            ground.inbox().handle(second, fail)

        assert _handle(ground, second) is Handling.HANDLED
        assert ground.effects() == ["1.0", "2.0"]

    def test_aggregates_do_not_know_each_other(self, ground: IInboxUnderTest) -> None:
        for one in _history(3):
            _handle(ground, one)

        assert _handle(ground, an_arrival(of="2")) is Handling.HANDLED
        assert _handle(ground, an_arrival(aggregate_type="contract.parcel")) is Handling.HANDLED
        assert _handle(ground, an_arrival(aggregate_type="Contract.order")) is Handling.HANDLED
        assert _handle(ground, an_arrival(subscriber="another")) is Handling.HANDLED

    def test_an_id_that_is_used_again_begins_anew(self, ground: IInboxUnderTest) -> None:
        old = _history(5)
        for one in old:
            _handle(ground, one)
        new = an_arrival(1, epoch=1, previous=a_place(5))

        assert _handle(ground, new) is Handling.HANDLED
        assert _handle(ground, new) is Handling.REPEATED
        assert [_handle(ground, one) for one in old] == [Handling.REPEATED] * 5
        assert len(ground.effects()) == 6

    def test_the_end_of_the_old_aggregate_is_missing_to_the_new_one(
        self, ground: IInboxUnderTest
    ) -> None:
        for one in _history(4):
            _handle(ground, one)
        new = an_arrival(1, epoch=1, previous=a_place(5))

        assert _handle(ground, new) == EventGap(arrival=new, last=a_place(4))

    def test_an_event_without_a_place_is_refused(self, ground: IInboxUnderTest) -> None:
        unplaced = attrs.evolve(
            an_arrival(), place=None, previous=None, unplaced_because="it was recorded"
        )

        with pytest.raises(UnplacedEventError, match="it was recorded") as refusal:
            _handle(ground, unplaced)

        assert not refusal.value.retryable
        assert ground.effects() == []

    @pytest.mark.parametrize("handled", [0, 1])
    def test_an_event_never_passes_the_one_before_it(
        self, ground: IInboxUnderTest, handled: int
    ) -> None:
        """While one is at work, the next one waits for it, or is told to come again."""
        history = _history(handled + 2)
        for one in history[:handled]:
            _handle(ground, one)
        before, after = history[handled:]
        is_inside, may_end = threading.Event(), threading.Event()

        def linger(work: object) -> None:
            is_inside.set()
            assert may_end.wait(_PATIENCE_SECONDS)
            ground.write(work, str(before.place))

        def deliver_after() -> object:
            try:
                return _handle(ground, after)
            except ConcurrencyError as error:
                return error

        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(ground.inbox().handle, before, linger)
            assert is_inside.wait(_PATIENCE_SECONDS)
            second = pool.submit(deliver_after)
            may_end.set()
            assert first.result(_PATIENCE_SECONDS) is Handling.HANDLED
            answer = second.result(_PATIENCE_SECONDS)

        if answer is not Handling.HANDLED:
            assert isinstance(answer, EventGap | ConcurrencyError)
            assert _handle(ground, after) is Handling.HANDLED
        assert ground.effects() == [str(one.place) for one in history]

    def test_threads_that_deliver_a_history_again_and_again_keep_its_order(
        self, ground: IInboxUnderTest
    ) -> None:
        history = _history(10)

        def deliver(_: int) -> None:
            waiting = list(history)
            while waiting:
                waiting = [one for one in waiting if not _is_done(ground, one)]

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(deliver, range(4)))

        assert ground.effects() == [str(one.place) for one in history]


def _history(length: int) -> list[Arrival]:
    """Return the events of one aggregate, one for each version, each knowing the one before it."""
    first = an_arrival()
    later = [an_arrival(version, previous=a_place(version - 1)) for version in range(2, length + 1)]
    return [first, *later]


def _handle(
    ground: IInboxUnderTest, arrival: Arrival, *, past_gap: bool = False
) -> Handling | EventGap:
    effect = str(arrival.place)
    return ground.inbox().handle(
        arrival, lambda work: ground.write(work, effect), past_gap=past_gap
    )


def _is_done(ground: IInboxUnderTest, arrival: Arrival) -> bool:
    try:
        return not isinstance(_handle(ground, arrival), EventGap)
    except ConcurrencyError:
        return False
