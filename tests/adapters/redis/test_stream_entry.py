"""Events as entries, and back."""

import pytest

from pragmatic_ddd.application.events import EVERYBODY, Addressee
from pragmatic_ddd.errors import EventDeserializationError
from pragmatic_ddd_redis.errors import RefusedEventError
from pragmatic_ddd_redis.stream_entry import StreamEntry, fields_of
from tests.adapters.redis.shop import a_stored_event


def an_entry(fields: list[bytes]) -> StreamEntry:
    named = dict(zip(fields[::2], fields[1::2], strict=True))
    return StreamEntry(stream="shop", id=b"1-0", fields=named)


def test_what_goes_out_comes_back() -> None:
    message = a_stored_event(
        aggregate_id="Größe 订单 \N{GRINNING FACE}",
        headers={"correlation-id": "c", "tenant": "Ö", "previousplace": "2.0"},
    )
    addressee = Addressee(subscriber="mail", only_this=True, consumer_group="shop")

    entry = an_entry(fields_of(message, addressee, source="/shop"))

    received = entry.event("shop")
    assert (received.message, received.addressee, received.topic) == (message, addressee, "shop")
    assert entry.event_type == message.event_type


def test_the_fields_are_those_of_the_documentation() -> None:
    fields = fields_of(a_stored_event(message_id="e-1"), EVERYBODY, source="/shop")

    assert dict(zip(fields[::2], fields[1::2], strict=True)) == {
        b"ce_specversion": b"1.0",
        b"ce_id": b"e-1",
        b"ce_source": b"/shop",
        b"ce_type": b"redis-shop.order.paid",
        b"ce_subject": b"order-1",
        b"ce_datacontenttype": b"application/json",
        b"ce_aggregatetype": b"shop.order",
        b"ce_aggregateversion": b"3",
        b"ce_eventindex": b"1",
        b"ce_eventversion": b"1",
        b"data": b'{"aggregate_id":"order-1","total":5}',
    }


def test_half_a_surrogate_is_refused_by_name() -> None:
    with pytest.raises(RefusedEventError, match="subject"):
        fields_of(a_stored_event(aggregate_id="a\ud800"), EVERYBODY, source="/")


def test_an_entry_that_is_no_event_says_which() -> None:
    entry = StreamEntry(stream="shop", id=b"7-1", fields={b"color": b"\xff", b"ce_type": b"x\xff"})

    assert entry.event_type == "x\N{REPLACEMENT CHARACTER}"
    with pytest.raises(EventDeserializationError, match=r"entry 7-1 of shop"):
        entry.event("shop")


def test_a_deleted_entry_has_no_type() -> None:
    assert StreamEntry(stream="shop", id=b"7-1", fields=None).event_type == ""
