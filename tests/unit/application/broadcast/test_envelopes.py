"""Envelopes as messages and back: nothing is lost, and what is no envelope is refused."""

import datetime as dt
from typing import Any

import attrs
import pytest

from pragmatic_ddd.application.broadcast import IntegrationEvent, envelope_of, message_of
from pragmatic_ddd.application.event_origin import with_origin
from pragmatic_ddd.application.events import attributes_of, received_event
from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd.ports import AggregateMessageEnvelope, OutboxMessage
from pragmatic_ddd.testing.broadcast_messenger import an_envelope


class TheirOrderPaid(IntegrationEvent, name="shop.order-paid", version=2):
    pass


def over_the_wire(envelope: AggregateMessageEnvelope) -> OutboxMessage:
    message = message_of(envelope)
    return received_event(attributes_of(message), message.payload, where="here").message


def test_the_attributes_of_a_broadcast() -> None:
    envelope = an_envelope()

    assert attributes_of(message_of(envelope), source="/shop") == {
        "specversion": "1.0",
        "id": envelope.message_id,
        "source": "/shop",
        "type": "shop.order-paid",
        "subject": "order-1",
        "time": "2026-01-31T12:30:15.123456+00:00",
        "datacontenttype": "application/json",
        "dataschema": "/schemas/2",
        "aggregatetype": "shop.order",
        "aggregateversion": "1",
        "eventindex": "1",
        "eventversion": "2",
        "operationcode": "pay",
        "headers": '{"tenant": "42"}',
    }
    assert message_of(envelope).payload == envelope.payload


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"aggregate_version": None, "event_index": 0, "headers": {}},
        {"payload": b'{"occurred_at":"1999-01-01T00:00:00Z"}'},
        {"payload": b"[1]"},
        {"occurred_at": dt.datetime(2026, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=-9.5)))},
        {"occurred_at": dt.datetime(1890, 1, 2, tzinfo=dt.timezone(dt.timedelta(seconds=3208)))},
    ],
)
def test_what_goes_out_comes_back(changes: dict[str, Any]) -> None:
    envelope = attrs.evolve(an_envelope(), **changes)

    assert envelope_of(with_origin(TheirOrderPaid(), over_the_wire(envelope))) == envelope


def test_a_zone_whose_offset_has_seconds_is_no_time_of_rfc_3339() -> None:
    zone = dt.timezone(dt.timedelta(minutes=53, seconds=28))
    envelope = attrs.evolve(an_envelope(), occurred_at=dt.datetime(1890, 1, 2, 1, tzinfo=zone))

    assert attributes_of(message_of(envelope))["time"] == "1890-01-02T00:06:32+00:00"


def test_when_it_happened_is_the_envelopes_whatever_its_headers_say() -> None:
    envelope = attrs.evolve(an_envelope(), headers={"occurred-at": "yesterday"})

    assert attributes_of(message_of(envelope))["time"] == "2026-01-31T12:30:15.123456+00:00"


def test_an_event_that_no_message_has_brought_has_no_envelope() -> None:
    with pytest.raises(EventDeserializationError, match="no message has brought it"):
        envelope_of(TheirOrderPaid(aggregate_id="order-1"))


def test_a_message_without_a_type_of_aggregate_is_no_envelope() -> None:
    message = attrs.evolve(over_the_wire(an_envelope()), aggregate_type="")

    with pytest.raises(EventDeserializationError, match="aggregate_type") as caught:
        envelope_of(with_origin(TheirOrderPaid(), message))
    assert caught.value.event_type == "shop.order-paid"
