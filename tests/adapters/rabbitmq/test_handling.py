"""One try of a message, and what follows."""

import datetime as dt
import logging
import time
from collections.abc import Callable

import attrs
import pytest

from pragmatic_ddd.application.events import Failure, Redeliveries
from pragmatic_ddd_rabbitmq.errors import NotConfirmedError, NotConnectedError, UndeliverableError
from pragmatic_ddd_rabbitmq.handling import Handling, ReturnedTooOftenError
from pragmatic_ddd_rabbitmq.received_message import ReceivedMessage


class _UselessError(Exception):
    """Another try is useless."""


@attrs.define(eq=False)
class _Desk:
    """A handler that fails as often as it is told, and a place for dead letters."""

    failures: list[BaseException] = attrs.field(factory=list)
    letters: list[tuple[ReceivedMessage, BaseException, int]] = attrs.field(factory=list)
    tries: list[bool] = attrs.field(factory=list)
    burying: list[Exception] = attrs.field(factory=list)

    def handle(self, _: ReceivedMessage, is_last: bool) -> None:  # a callback
        self.tries.append(is_last)
        if self.failures:
            raise self.failures.pop(0)

    def bury(self, message: ReceivedMessage, failure: Failure) -> None:
        if self.burying:
            raise self.burying.pop(0)
        self.letters.append((message, failure.error, failure.attempts))


def a_handling(desk: _Desk, *, max_attempts: int = 3) -> Handling:
    return Handling(
        handle=desk.handle,
        bury=desk.bury,
        is_final=lambda error: isinstance(error, _UselessError),
        redeliveries=Redeliveries(
            max_attempts=max_attempts, first_pause=dt.timedelta(milliseconds=100)
        ),
    )


def a_received(*, returns: int = 0, is_first: bool = False) -> ReceivedMessage:
    return ReceivedMessage(
        queue="q",
        session=1,
        delivery_tag=1,
        is_first=is_first,
        body=b"{}",
        attributes={"id": "e-1", "subject": "order-1"},
        returns=returns,
    )


def test_what_succeeds_is_done_with() -> None:
    desk = _Desk()

    assert a_handling(desk).rest_after(a_received()) is None
    assert desk.tries == [False]


def test_what_fails_rests_longer_each_time_and_then_dies() -> None:
    desk = _Desk([ValueError("one"), ValueError("two"), ValueError("three")])
    handling = a_handling(desk)
    message = a_received()

    rests = []
    for _ in range(2):
        until = handling.rest_after(message)
        assert until is not None
        rests.append(until - time.monotonic())
    assert handling.rest_after(message) is None

    assert 0 < rests[0] <= 0.1 < rests[1] <= 0.2
    assert desk.tries == [False, False, True]
    ((dead, error, attempts),) = desk.letters
    assert (dead, str(error), attempts) == (message, "three", 3)


def test_what_no_try_can_mend_dies_at_once() -> None:
    desk = _Desk([_UselessError("broken")])

    assert a_handling(desk).rest_after(a_received()) is None
    assert len(desk.letters) == 1


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt()])
def test_a_handler_cannot_end_its_thread(error: BaseException) -> None:
    desk = _Desk([error])

    assert a_handling(desk).rest_after(a_received()) is not None


def test_a_dead_letter_that_cannot_be_sent_is_sent_later_and_handled_no_more() -> None:
    desk = _Desk([_UselessError("broken")], burying=[NotConnectedError("away")])
    handling = a_handling(desk)

    assert handling.rest_after(a_received()) is not None
    assert not desk.letters
    assert handling.rest_after(a_received()) is None
    assert len(desk.letters) == 1
    assert len(desk.tries) == 1


@pytest.mark.parametrize(
    "error", [NotConnectedError("away"), NotConfirmedError("?"), UndeliverableError("no queue")]
)
def test_a_copy_for_later_that_is_not_sent_costs_no_try(error: Exception) -> None:
    desk = _Desk([error] * 5)
    handling = a_handling(desk, max_attempts=2)

    for _ in range(5):
        assert handling.rest_after(a_received()) is not None
    assert handling.rest_after(a_received()) is None
    assert desk.tries == [False] * 6
    assert not desk.letters


def test_who_names_no_aggregate_is_handled_alone() -> None:
    handling = a_handling(_Desk())

    assert handling.is_alone(attrs.evolve(a_received(), attributes={"id": "e-1"}))
    assert not handling.is_alone(a_received())
    assert handling.is_alone(a_received(returns=3))


def test_who_came_back_too_often_has_a_last_try() -> None:
    desk = _Desk([ValueError("again")])
    handling = a_handling(desk)
    message = a_received(returns=3)

    assert not handling.is_suspect(a_received(returns=2))
    assert handling.is_suspect(message)
    assert handling.rest_after(message) is None
    assert desk.tries == [True]
    assert len(desk.letters) == 1


def test_who_comes_back_even_so_and_first_is_given_up_untried() -> None:
    desk = _Desk()

    assert a_handling(desk).rest_after(a_received(returns=4, is_first=True)) is None
    assert not desk.tries
    ((_, error, _),) = desk.letters
    assert isinstance(error, ReturnedTooOftenError)
    assert "came back 4 times" in str(error)


def test_who_came_back_with_it_has_its_try() -> None:
    desk = _Desk()

    assert a_handling(desk).rest_after(a_received(returns=4, is_first=False)) is None
    assert desk.tries == [True]
    assert not desk.letters


def _breaks(_: ReceivedMessage) -> str:
    raise LookupError("no key")


def test_whatever_goes_wrong_nothing_is_lost(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken: Callable[[ReceivedMessage], str] = _breaks
    monkeypatch.setattr(ReceivedMessage, "key", property(broken))

    with caplog.at_level(logging.ERROR):
        assert a_handling(_Desk()).rest_after(a_received()) is not None
    assert "no key" in caplog.text
