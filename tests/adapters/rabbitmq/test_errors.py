"""The table of translations."""

import ssl

import amqp
import pytest

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
)
from pragmatic_ddd_rabbitmq.errors import (
    LinkLostError,
    NotConfirmedError,
    NotConnectedError,
    RefusedMessageError,
    SendError,
    UndeliverableError,
    link_lost,
    refusal,
    translated,
)


@pytest.mark.parametrize(
    ("error", "expected", "retryable"),
    [
        (RefusedMessageError("too large"), EventRejectedError, False),
        (UndeliverableError("no queue"), EventPublishError, True),
        (NotConnectedError("away"), BrokerUnavailableError, True),
        (NotConfirmedError("no answer"), EventUnconfirmedError, True),
    ],
)
def test_each_error_of_sending_is_one_of_the_port(
    error: SendError, expected: type[EventPublishError], *, retryable: bool
) -> None:
    found = translated(error, "event-1", "shop-events")

    assert type(found) is expected
    assert found.retryable is retryable
    assert (found.event_id, found.topic, found.reason) == ("event-1", "shop-events", str(error))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (amqp.PreconditionFailed("message size 9 is larger than 8"), RefusedMessageError),
        (amqp.ContentTooLarge("too large"), RefusedMessageError),
        (amqp.NotFound("NOT_FOUND - no exchange"), UndeliverableError),
        (amqp.AccessRefused("ACCESS_REFUSED - write access"), UndeliverableError),
        (amqp.FrameError("FRAME_ERROR"), UndeliverableError),
        (amqp.InternalError("INTERNAL_ERROR"), NotConfirmedError),
        (amqp.PreconditionFailed("inequivalent arg 'type'", (40, 10)), UndeliverableError),
        (amqp.PreconditionFailed("message size 9 is larger than 8", (60, 40)), RefusedMessageError),
        (amqp.ConnectionForced("CONNECTION_FORCED - shutdown"), NotConnectedError),
        (ConnectionResetError("reset by peer"), NotConnectedError),
        (TimeoutError(), NotConnectedError),
        (ssl.SSLError("handshake"), NotConnectedError),
    ],
)
def test_what_closes_a_connection_says_something_of_the_message(
    error: Exception, expected: type[Exception]
) -> None:
    lost = link_lost(error)

    assert type(refusal(lost)) is expected
    assert lost.is_a_refusal is (expected is not NotConnectedError)
    assert str(lost)


def test_a_refused_destination_refuses_every_message() -> None:
    assert link_lost(amqp.NotFound("no exchange")).is_about_destination
    assert link_lost(amqp.AccessRefused("no")).is_about_destination
    assert link_lost(amqp.PreconditionFailed("inequivalent", (40, 10))).is_about_destination
    assert not link_lost(amqp.PreconditionFailed("too large")).is_about_destination


def test_a_loss_stays_what_it_is() -> None:
    lost = LinkLostError("silent")

    assert link_lost(lost) is lost
    assert link_lost(OSError()).reason == "the connection is lost: OSError"
    assert link_lost(amqp.ConnectionForced()).reason == "ConnectionForced"
