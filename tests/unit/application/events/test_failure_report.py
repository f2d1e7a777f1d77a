"""What is logged of a message that failed."""

import logging

import pytest

from pragmatic_ddd.application.events import (
    Failure,
    Outcome,
    Redeliveries,
    SubscriberOutcome,
    SubscribersFailedError,
    report_dead_letter,
    report_failed_try,
)
from pragmatic_ddd.ports import Subscriber

WHERE = "record shop-events/0@4"
REDELIVERIES = Redeliveries(max_attempts=3)
LOGGER = logging.getLogger("tests.failure_report")


class WordlessError(Exception):
    def __str__(self) -> str:
        raise ValueError


def a_failure(error: BaseException, attempts: int = 1) -> Failure:
    return Failure(error, attempts=attempts)


def failed_at(code: str, error: Exception) -> SubscribersFailedError:
    subscriber = Subscriber(code=code, event_type="shop.order.paid", handler=print)
    outcome = SubscriberOutcome(subscriber, Outcome.FAILED, error)
    return SubscribersFailedError("shop.order.paid", "event-7", [outcome])


def test_one_line_names_the_event_the_subscriber_and_the_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = failed_at("mail", ConnectionError("no\n  answer"))

    report_failed_try(LOGGER, WHERE, a_failure(error), REDELIVERIES)
    report_dead_letter(LOGGER, WHERE, a_failure(error, attempts=3))

    cause = "event shop.order.paid event-7 failed at mail: ConnectionError: no answer"
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("WARNING", f"{WHERE} failed, try 1 of 3; it will be tried again: {cause}"),
        ("ERROR", f"{WHERE} is a dead letter after 3 tries: {cause}"),
    ]


def test_the_traceback_is_with_the_first_and_the_last_try(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = ValueError("not yet")
    for attempts in (1, 2, 3):
        report_failed_try(LOGGER, WHERE, a_failure(error, attempts), REDELIVERIES)
    report_dead_letter(LOGGER, WHERE, a_failure(error, attempts=4))

    assert [bool(each.exc_info) for each in caplog.records] == [True, False, False, True]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("a"), ": ValueError: a"),
        (ValueError(), ": ValueError"),
        (WordlessError(), ": WordlessError, whose text cannot be had: ValueError"),
        (
            failed_at("mail", WordlessError()),
            ": SubscribersFailedError, whose text cannot be had: ValueError",
        ),
        (ValueError("x" * 5000), f": ValueError: {'x' * 988}…"),
    ],
)
def test_whatever_the_error_says_it_is_reported(
    caplog: pytest.LogCaptureFixture, error: Exception, said: str
) -> None:
    report_dead_letter(LOGGER, WHERE, a_failure(error))

    (record,) = caplog.records
    assert record.getMessage() == f"{WHERE} is a dead letter after 1 tries{said}"
