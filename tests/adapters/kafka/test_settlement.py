"""What becomes of one received record."""

import datetime as dt
import logging
import time
from collections.abc import Callable

import attrs
import pytest

from pragmatic_ddd.application.events import Failure, Redeliveries
from pragmatic_ddd_kafka.record import ReceivedRecord
from pragmatic_ddd_kafka.settlement import Settlement

RECORD = ReceivedRecord(topic="events", partition=0, offset=4)
NEXT = ReceivedRecord(topic="events", partition=0, offset=5)


class UselessError(Exception):
    """One after which no further try can help."""


@attrs.define
class Desk:
    """Handles, and buries, and raises what it is told to."""

    raises: list[BaseException | None] = attrs.field(factory=list)
    cannot_bury: int = 0
    handled: list[ReceivedRecord] = attrs.field(factory=list)
    buried: list[tuple[ReceivedRecord, int]] = attrs.field(factory=list)

    def handle(self, record: ReceivedRecord) -> None:
        self.handled.append(record)
        error = self.raises.pop(0) if self.raises else None
        if error is not None:
            raise error

    def bury(self, record: ReceivedRecord, failure: Failure) -> None:
        if self.cannot_bury:
            self.cannot_bury -= 1
            raise OSError("no such topic")
        self.buried.append((record, failure.attempts))


def a_settlement(
    desk: Desk,
    *,
    attempts: int = 3,
    seconds_left: Callable[[ReceivedRecord], float] = lambda _: 0.0,
) -> Settlement:
    return Settlement(
        handler=desk.handle,
        bury=desk.bury,
        redeliveries=Redeliveries(max_attempts=attempts, first_pause=dt.timedelta(seconds=2)),
        is_final=lambda error: isinstance(error, UselessError),
        seconds_left=seconds_left,
    )


def test_a_record_that_is_handled_is_done_with() -> None:
    desk = Desk()

    assert a_settlement(desk).settle(RECORD) is None
    assert desk.handled == [RECORD]


def test_a_record_that_fails_is_tried_again_after_a_pause_that_grows() -> None:
    desk = Desk(raises=[ValueError("1"), ValueError("2")])
    settlement = a_settlement(desk)

    first, second = settlement.settle(RECORD), settlement.settle(RECORD)

    now = time.monotonic()
    assert first is not None
    assert second is not None
    assert now + 1 < first < now + 2.1
    assert now + 3 < second < now + 4.1
    assert settlement.settle(RECORD) is None
    assert desk.buried == []


def test_the_last_try_makes_it_a_dead_letter(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk(raises=[ValueError("never")] * 3)
    settlement = a_settlement(desk)

    outcomes = [settlement.settle(RECORD) is None for _ in range(3)]

    assert outcomes == [False, False, True]
    assert desk.buried == [(RECORD, 3)]
    cause = "ValueError: never"
    levels = [(each.levelno, each.getMessage()) for each in caplog.records]
    assert levels == [
        (logging.WARNING, f"record events/0@4 failed, try 1 of 3; it will be tried again: {cause}"),
        (logging.WARNING, f"record events/0@4 failed, try 2 of 3; it will be tried again: {cause}"),
        (logging.ERROR, f"record events/0@4 is a dead letter after 3 tries: {cause}"),
    ]


def test_a_useless_error_makes_it_a_dead_letter_at_once() -> None:
    desk = Desk(raises=[UselessError()])

    assert a_settlement(desk).settle(RECORD) is None
    assert desk.buried == [(RECORD, 1)]


def test_a_record_is_kept_until_it_is_a_dead_letter(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk(raises=[UselessError()], cannot_bury=2)
    settlement = a_settlement(desk)

    outcomes = [settlement.settle(RECORD) is None for _ in range(3)]

    assert outcomes == [False, False, True]
    assert desk.handled == [RECORD]  # its tries are over: only the letter is tried again
    assert sum("could not be made a dead letter" in each.message for each in caplog.records) == 2


def test_a_handler_cannot_end_the_thread() -> None:
    desk = Desk(raises=[SystemExit(1), KeyboardInterrupt()])
    settlement = a_settlement(desk)

    assert settlement.settle(RECORD) is not None
    assert settlement.settle(RECORD) is not None
    assert settlement.settle(RECORD) is None


def test_each_record_has_its_own_tries() -> None:
    desk = Desk(raises=[ValueError()] * 4)
    settlement = a_settlement(desk, attempts=2)

    assert settlement.settle(RECORD) is not None
    assert settlement.settle(NEXT) is not None
    assert desk.buried == []
    assert settlement.settle(RECORD) is None
    assert desk.buried == [(RECORD, 2)]


def test_a_record_that_goes_elsewhere_begins_anew() -> None:
    desk = Desk(raises=[ValueError()] * 2)
    settlement = a_settlement(desk, attempts=2)

    settlement.settle(RECORD)
    settlement.forget(RECORD)
    settlement.settle(RECORD)

    assert desk.buried == []


def test_a_record_that_is_not_due_is_not_tried() -> None:
    desk = Desk()
    settlement = a_settlement(desk, seconds_left=lambda _: 5.0)

    until = settlement.settle(RECORD)

    assert until is not None
    assert 4 < until - time.monotonic() <= 5
    assert desk.handled == []
    assert settlement.settle(RECORD, is_due=True) is None
    assert desk.handled == [RECORD]
