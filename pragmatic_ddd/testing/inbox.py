"""Contract of ``IInbox``: subclass it, provide a fixture, run pytest.

    class TestMine(InboxContract):
        @pytest.fixture
        def ground(self) -> IInboxUnderTest: ...

An inbox that goes by places binds ``WatermarkInboxContract`` of ``watermark_inbox`` instead.
"""

import threading
from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest

from pragmatic_ddd.ports.inbox import Handling
from pragmatic_ddd.testing.inbox_binding import IInboxUnderTest, an_arrival

_PATIENCE_SECONDS = 30


class HandlerFailedError(Exception):
    """What a handler raises in the middle of its work."""


class InboxContract:
    """What every inbox promises.

    Attributes:
        handlers_overlap: Whether handlers of different events may be at work at the same time; a
            database with a single writer has the second one wait.
    """

    handlers_overlap: ClassVar[bool] = True

    @pytest.fixture
    @abstractmethod
    def ground(self) -> IInboxUnderTest:
        """Return an empty inbox with its ground."""

    def test_an_event_is_handled_and_its_effect_is_there(self, ground: IInboxUnderTest) -> None:
        answer = ground.inbox().handle(an_arrival(), lambda work: ground.write(work, "shipped"))

        assert answer is Handling.HANDLED
        assert ground.effects() == ["shipped"]

    def test_an_event_that_comes_again_is_dropped(self, ground: IInboxUnderTest) -> None:
        answers = [
            ground.inbox().handle(an_arrival(), lambda work: ground.write(work, "shipped"))
            for _ in range(3)
        ]

        assert answers == [Handling.HANDLED, Handling.REPEATED, Handling.REPEATED]
        assert ground.effects() == ["shipped"]

    def test_a_handler_is_not_called_for_what_was_handled(self, ground: IInboxUnderTest) -> None:
        ground.inbox().handle(an_arrival(), _do_nothing)

        ground.inbox().handle(an_arrival(), _must_not_be_called)

    def test_each_subscriber_has_a_memory_of_its_own(self, ground: IInboxUnderTest) -> None:
        names = ["ship", "Ship", "ship.", "sh\u00edp"]
        for name in names:
            answer = ground.inbox().handle(an_arrival(subscriber=name), _writer(ground, name))
            assert answer is Handling.HANDLED

        assert ground.effects() == names

    def test_events_are_told_apart_by_their_exact_ids(self, ground: IInboxUnderTest) -> None:
        for of in ["a", "A", "\u00e1", "a\u0301", "a."]:
            assert ground.inbox().handle(an_arrival(of=of), _do_nothing) is Handling.HANDLED

    def test_a_handler_that_fails_leaves_neither_effect_nor_mark(
        self, ground: IInboxUnderTest
    ) -> None:
        def fail(work: object) -> None:
            ground.write(work, "half")
            raise HandlerFailedError

        with pytest.raises(HandlerFailedError):
            ground.inbox().handle(an_arrival(), fail)

        assert ground.effects() == []
        answer = ground.inbox().handle(an_arrival(), lambda work: ground.write(work, "whole"))
        assert answer is Handling.HANDLED
        assert ground.effects() == ["whole"]

    def test_a_handler_that_is_interrupted_leaves_neither_effect_nor_mark(
        self, ground: IInboxUnderTest
    ) -> None:
        def be_interrupted(work: object) -> None:
            ground.write(work, "half")
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ground.inbox().handle(an_arrival(), be_interrupted)

        assert ground.effects() == []
        assert ground.inbox().handle(an_arrival(), _do_nothing) is Handling.HANDLED

    def test_of_two_deliveries_at_once_one_is_handled(self, ground: IInboxUnderTest) -> None:
        is_inside, may_end, calls = threading.Event(), threading.Event(), []

        def handle(work: object) -> None:
            calls.append(threading.get_ident())
            is_inside.set()
            assert may_end.wait(_PATIENCE_SECONDS)
            ground.write(work, "shipped")

        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(ground.inbox().handle, an_arrival(), handle)
            assert is_inside.wait(_PATIENCE_SECONDS)
            second = pool.submit(ground.inbox().handle, an_arrival(), handle)
            may_end.set()

            assert first.result(_PATIENCE_SECONDS) is Handling.HANDLED
            assert second.result(_PATIENCE_SECONDS) is Handling.REPEATED
        assert len(calls) == 1
        assert ground.effects() == ["shipped"]

    def test_of_two_deliveries_at_once_the_second_is_handled_if_the_first_fails(
        self, ground: IInboxUnderTest
    ) -> None:
        is_inside, may_end = threading.Event(), threading.Event()

        def fail(work: object) -> None:
            ground.write(work, "half")
            is_inside.set()
            assert may_end.wait(_PATIENCE_SECONDS)
            raise HandlerFailedError

        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(ground.inbox().handle, an_arrival(), fail)
            assert is_inside.wait(_PATIENCE_SECONDS)
            second = pool.submit(
                ground.inbox().handle, an_arrival(), lambda work: ground.write(work, "whole")
            )
            may_end.set()

            with pytest.raises(HandlerFailedError):
                first.result(_PATIENCE_SECONDS)
            assert second.result(_PATIENCE_SECONDS) is Handling.HANDLED
        assert ground.effects() == ["whole"]

    def test_many_deliveries_by_many_threads_have_each_effect_once(
        self, ground: IInboxUnderTest
    ) -> None:
        names = [f"e{n}" for n in range(12)]

        def deliver_all(shift: int) -> list[object]:
            inbox = ground.inbox()
            return [
                inbox.handle(an_arrival(of=name), _writer(ground, name))
                for name in names[shift:] + names[:shift]
            ]

        with ThreadPoolExecutor(4) as pool:
            answers = [one for some in pool.map(deliver_all, (0, 0, 3, 6)) for one in some]

        assert answers.count(Handling.HANDLED) == len(names)
        assert answers.count(Handling.REPEATED) == 3 * len(names)
        assert sorted(ground.effects()) == sorted(names)

    def test_an_event_does_not_wait_for_another_one(self, ground: IInboxUnderTest) -> None:
        if not self.handlers_overlap:
            pytest.skip("one handler at a time")
        both_are_inside = threading.Barrier(2)

        def meet(work: object) -> None:
            both_are_inside.wait(_PATIENCE_SECONDS)
            ground.write(work, "met")

        with ThreadPoolExecutor(2) as pool:
            calls = [
                pool.submit(ground.inbox().handle, an_arrival(of=of), meet) for of in ("1", "2")
            ]

            assert [one.result(_PATIENCE_SECONDS) for one in calls] == [Handling.HANDLED] * 2


def _do_nothing(_: object) -> None: ...


def _must_not_be_called(_: object) -> None:
    pytest.fail("the handler was called")


def _writer(ground: IInboxUnderTest, effect: str) -> Callable[[object], None]:
    return lambda work: ground.write(work, effect)
