"""The one place where the client's errors become the ports' errors."""

import itertools
from typing import Any

import pytest

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
    InfrastructureError,
    MissingDependencyError,
)
from pragmatic_ddd_rocketmq.errors import (
    NativeLibraryError,
    NotConfirmedError,
    NotSentError,
    RefusedMessageError,
    RocketMqStartError,
    SendError,
    check_confirmed,
    translated,
)


@pytest.mark.parametrize(
    ("raised", "translation", "retryable"),
    [
        (RefusedMessageError("body: empty"), EventRejectedError, False),
        (NotSentError("producer is shut down"), BrokerUnavailableError, True),
        (NotConfirmedError("no confirmation"), EventUnconfirmedError, True),
    ],
)
def test_what_a_send_raises_becomes_an_error_of_the_port(
    raised: SendError, translation: type[EventPublishError], retryable: bool
) -> None:
    error = translated(raised, "event-1", "shop-events")

    assert type(error) is translation
    assert (error.event_id, error.topic) == ("event-1", "shop-events")
    assert error.reason == str(raised)
    assert error.retryable is retryable


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"send_status": 1}, "FLUSH_DISK_TIMEOUT"),
        ({"send_status": 2}, "FLUSH_SLAVE_TIMEOUT"),
        ({"send_status": 3}, "SLAVE_NOT_AVAILABLE"),
        ({"send_status": 99}, "unknown send status 99"),
        ({"status": 13}, "no confirmation"),
        ({"status": 1, "last_error": ""}, "no confirmation"),
        ({"status": -1, "last_error": "odd"}, "odd"),
        ({"status": 13, "has_route": False}, "no route"),
    ],
)
def test_everything_but_send_ok_is_unconfirmed(changes: dict[str, Any], reason: str) -> None:
    answer: dict[str, Any] = {"status": 0, "send_status": 0, "has_route": True, "last_error": "msg"}

    with pytest.raises(NotConfirmedError, match=reason):
        check_confirmed(**{**answer, **changes}, context=lambda: "topic shop-events")


def test_send_ok_is_confirmed() -> None:
    unconfirmed = []
    for status, send_status in itertools.product((0, 1), (0, 1)):
        try:
            check_confirmed(
                status=status,
                send_status=send_status,
                has_route=True,
                last_error="",
                context=lambda: "",
            )
        except NotConfirmedError:
            unconfirmed.append((status, send_status))

    assert unconfirmed == [(0, 1), (1, 0), (1, 1)]


def test_what_stops_a_start_is_in_the_tree_of_errors() -> None:
    assert issubclass(NativeLibraryError, MissingDependencyError)
    assert issubclass(RocketMqStartError, InfrastructureError)
    assert RocketMqStartError.retryable
    assert not NativeLibraryError.retryable
