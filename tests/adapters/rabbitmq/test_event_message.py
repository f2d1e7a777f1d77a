"""Events as AMQP messages, and back."""

import datetime as dt
from typing import Any

import amqp
import attrs
import pytest

from pragmatic_ddd.application.events import EVERYBODY, Addressee
from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd_rabbitmq.event_message import event_of, outgoing
from pragmatic_ddd_rabbitmq.outgoing_message import OutgoingMessage, checked_exchange
from pragmatic_ddd_rabbitmq.received_message import ReceivedMessage, received, text_of
from tests.adapters.rabbitmq.shop import a_stored_event


def came(message: OutgoingMessage, **changes: Any) -> ReceivedMessage:  # noqa: ANN401
    """Return the message as a consumer gets it."""
    theirs = amqp.Message(
        message.body,
        content_type=message.content_type,
        message_id=message.message_id,
        application_headers={**message.headers, **changes.pop("headers", {})},
        **changes,
    )
    theirs.delivery_info = {
        "delivery_tag": 7,
        "exchange": message.exchange,
        "routing_key": message.routing_key,
    }
    return received(theirs, queue="warehouse", session=2, is_first=False)


def test_an_event_comes_as_it_went() -> None:
    stored = a_stored_event(headers={"tenant": "Zürich", "correlation-id": "c-1"})

    found = event_of(came(outgoing(stored, "shop-events")))

    assert found.message == stored
    assert found.addressee is EVERYBODY
    assert found.topic == "shop-events"


def test_its_properties_say_what_it_is() -> None:
    stored = a_stored_event(
        message_id="event-1", payload=b'{"occurred_at": "2026-11-30T10:00:00.5Z", "total": 5}'
    )

    message = outgoing(stored, "shop-events", source="/shop")

    assert attrs.asdict(message) == {
        "exchange": "shop-events",
        "routing_key": "shop.order.paid",
        "body": stored.payload,
        "message_id": "event-1",
        "type": "shop.order.paid",
        "timestamp": int(dt.datetime(2026, 11, 30, 10, tzinfo=dt.UTC).timestamp()),
        "content_type": "application/json",
        "headers": {
            "cloudEvents_specversion": "1.0",
            "cloudEvents_id": "event-1",
            "cloudEvents_source": "/shop",
            "cloudEvents_type": "shop.order.paid",
            "cloudEvents_subject": "order-1",
            "cloudEvents_time": "2026-11-30T10:00:00.5Z",
            "cloudEvents_aggregatetype": "shop.order",
            "cloudEvents_aggregateversion": "3",
            "cloudEvents_eventindex": "1",
            "cloudEvents_eventversion": "1",
        },
    }


@pytest.mark.parametrize("time", ["1969-12-31T23:59:59Z", "2016-12-31T23:59:60Z"])
def test_a_time_that_amqp_cannot_say_is_left_out(time: str) -> None:
    stored = a_stored_event(payload=f'{{"occurred_at": "{time}"}}'.encode())

    message = outgoing(stored, "shop-events")

    assert message.timestamp is None
    assert message.headers["cloudEvents_time"] == time


def test_a_copy_says_whom_it_is_for_and_is_another_message() -> None:
    stored = a_stored_event()
    mail = Addressee(subscriber="mail", only_this=True, consumer_group="warehouse")

    everybody, for_mail = outgoing(stored, "e"), outgoing(stored, "e", mail)

    assert event_of(came(for_mail)).addressee == mail
    assert everybody.identity != for_mail.identity
    assert came(everybody).key != came(for_mail).key


def test_both_prefixes_of_the_binding_are_understood() -> None:
    message = outgoing(a_stored_event(), "e")
    colons = {name.replace("_", ":", 1): value for name, value in message.headers.items()}

    found = event_of(came(attrs.evolve(message, headers=colons)))

    assert found.message.aggregate_id == "order-1"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (dt.datetime(2026, 11, 30, 10, 0), "2026-11-30T10:00:00Z"),  # noqa: DTZ001  # as it comes
        (b"\xff", "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_values_of_other_clients_are_text(value: object, text: str) -> None:
    assert text_of(value) == text


def test_a_missing_attribute_is_named_with_the_message() -> None:
    message = outgoing(a_stored_event(message_id="event-1"), "e")
    headers = {name: value for name, value in message.headers.items() if "subject" not in name}

    with pytest.raises(EventDeserializationError, match=r"event-1 from queue warehouse.*missing"):
        event_of(came(attrs.evolve(message, headers=headers)))


def test_what_is_no_event_has_no_type_and_an_identity_all_the_same() -> None:
    message = came(outgoing(a_stored_event(), "e"))
    foreign = attrs.evolve(message, attributes={}, headers={})

    assert foreign.event_type == ""
    assert foreign.key == "warehouse 2 7"
    assert foreign.lane == ""


def test_a_quorum_queue_says_how_often_a_message_came_back() -> None:
    message = outgoing(a_stored_event(), "e")

    assert came(message).returns == 0
    assert came(message, headers={"x-delivery-count": 4}).returns == 4
    assert came(message, headers={"x-delivery-count": "many"}).returns == 0


@pytest.mark.parametrize("name", ["", "amq.topic", "a\nb", "x" * 256, "ü" * 128])
def test_an_exchange_has_a_name_that_is_allowed(name: str) -> None:
    with pytest.raises(ValueError, match="exchange"):
        checked_exchange(name)


def test_an_exchange_may_be_called_almost_anything() -> None:
    assert checked_exchange("shop.events/eu ü") == "shop.events/eu ü"
