"""Events as RocketMQ messages, and back."""

import datetime as dt

import pytest

from pragmatic_ddd.application.events import Addressee
from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd_rocketmq_grpc.errors import RefusedMessageError
from pragmatic_ddd_rocketmq_grpc.event_message import event_type_of, outgoing, received
from pragmatic_ddd_rocketmq_grpc.outgoing_message import OutgoingMessage
from pragmatic_ddd_rocketmq_grpc.received_message import Queue, ReceivedMessage
from tests.adapters.rocketmq_grpc.shop import a_stored_event


def arrived(message: OutgoingMessage) -> ReceivedMessage:
    return ReceivedMessage(
        message_id="m-1",
        queue=Queue(message.topic, "broker-a", 3),
        queue_offset=17,
        body=message.body,
        message_group=message.message_group or "",
        properties={**message.properties, "__SHARDINGKEY": message.message_group or ""},
    )


def test_an_event_arrives_as_it_was_stored() -> None:
    stored = a_stored_event(
        aggregate_id="Kunde Ö 订单",
        headers={"tenant": "Zürich", "correlation-id": "c-1", "traceparent": "00-1-2-01"},
    )
    addressee = Addressee(subscriber="mail", only_this=True, consumer_group="shop")

    message = arrived(outgoing(stored, "events", addressee))

    assert event_type_of(message) == stored.event_type
    event = received(message)
    assert event.message == stored
    assert event.addressee == addressee
    assert event.topic == "events"


def test_an_event_is_in_the_group_of_its_aggregate() -> None:
    message = outgoing(a_stored_event(aggregate_id="order-7", message_id="a b"), "events")

    assert message.message_group == "order-7"
    assert message.key == "a%20b"
    assert message.properties["ce_id"] == "a b"
    assert message.deliver_at is None


def test_a_delayed_copy_has_a_time_and_no_group() -> None:
    deliver_at = dt.datetime.now(dt.UTC)

    message = outgoing(a_stored_event(), "later", deliver_at=deliver_at)

    assert message.message_group is None
    assert message.deliver_at == deliver_at


def test_the_tag_is_the_event_type_without_what_tags_cannot_hold() -> None:
    assert outgoing(a_stored_event(event_type="a b|c"), "events").tag == "a_b_c"


def test_half_a_surrogate_is_refused_by_name() -> None:
    with pytest.raises(RefusedMessageError, match=r"property 'ce_id'.*UTF-8"):
        outgoing(a_stored_event(message_id="\ud83d"), "events")


def test_what_cannot_be_read_says_which_message_it_is() -> None:
    message = ReceivedMessage(
        message_id="m-1",
        queue=Queue("events", "broker-a", 3),
        queue_offset=17,
        body=b"{}",
        properties={"ce_type": "shop.order.paid"},
    )

    with pytest.raises(
        EventDeserializationError, match="message m-1 of events, queue 3 of broker-a, offset 17"
    ):
        received(message)


def test_a_message_of_a_stranger_is_no_event() -> None:
    message = ReceivedMessage(
        message_id="m-1", queue=Queue("events", "broker-a", 0), queue_offset=0, body=b"hello"
    )

    assert event_type_of(message) == ""
