import datetime as dt
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import attrs
import pytest

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.application.broadcast import BroadcastSubscriber
from pragmatic_ddd.application.events import SubscriberRegistry
from pragmatic_ddd.application.outbox import EventEncoding, OutboxRelay
from pragmatic_ddd.errors import BroadcastEnvelopeError, BroadcastSendError
from pragmatic_ddd.ports import AggregateMessageEnvelope, Receipt
from pragmatic_ddd.testing.clock import SettableClock
from pragmatic_ddd_local import (
    Broadcast,
    InMemoryBroadcastMessenger,
    InMemoryEventManager,
    InMemoryOutboxStore,
)
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer

_NOON = dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)


class OrderPaid(DomainEvent, name="shop.order.paid"):
    total: Decimal


def paid() -> OrderPaid:
    event = OrderPaid(aggregate_id="order-1", total=Decimal("12.50"), occurred_at=_NOON)
    return event.placed_at(3, 0)


def content(event: OrderPaid) -> Mapping[str, object]:
    return {"order": event.aggregate_id, "total": str(event.total), "note": "für"}


def subscriber(**changes: Any) -> BroadcastSubscriber[OrderPaid]:  # noqa: ANN401
    made: BroadcastSubscriber[OrderPaid] = BroadcastSubscriber(
        messenger=InMemoryBroadcastMessenger(),
        topic="shop-orders",
        message_type="shop.order-paid",
        aggregate_type="shop.order",
        payload=content,
    )
    return attrs.evolve(made, **changes)


def test_an_event_becomes_a_message_under_its_id() -> None:
    messenger = InMemoryBroadcastMessenger()
    event = paid().caused_by("pay")

    subscriber(messenger=messenger, message_version=2, headers=lambda _: {"tenant": "42"})(event)

    assert messenger.sent == [
        Broadcast(
            "shop-orders",
            AggregateMessageEnvelope(
                message_id=event.event_id,
                message_type="shop.order-paid",
                message_version=2,
                aggregate_type="shop.order",
                aggregate_id="order-1",
                aggregate_version=3,
                occurred_at=_NOON,
                payload='{"order":"order-1","total":"12.50","note":"für"}'.encode(),
                headers={"tenant": "42", "operation-code": "pay"},
            ),
        )
    ]


def test_an_event_without_version_and_operation_makes_a_message_without_them() -> None:
    envelope = subscriber().envelope(OrderPaid(aggregate_id="order-1", total=Decimal(1)))

    assert envelope.aggregate_version is None
    assert envelope.event_index == 0
    assert envelope.headers == {}


def test_messages_of_one_change_have_places_of_their_own() -> None:
    """Else a receiver that remembers places takes the second one for a repetition."""
    places = [subscriber().envelope(paid().placed_at(3, index)).event_index for index in (0, 1)]

    assert places == [0, 1]


def test_the_same_event_makes_the_same_message() -> None:
    event = paid()

    assert subscriber().envelope(event) == subscriber().envelope(event)


def test_it_can_be_registered_like_any_subscriber() -> None:
    registry = SubscriberRegistry()

    registry.register_subscriber("tell-others", OrderPaid, subscriber())

    assert list(registry.of("shop.order.paid")) == ["tell-others"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (Decimal(1), "Object of type Decimal is not JSON serializable"),
        (_NOON, "Object of type datetime is not JSON serializable"),
        (float("nan"), "Out of range float values are not JSON compliant"),
        (12.5, r"payload\.value = 12\.5 is a float; write it as text"),
        ([1, (True, {"a": 0.5})], r"payload\.value\[1\]\[1\]\.a = 0\.5 is a float"),
        ({1: "a", "1": "b"}, r"the key 1 in payload\.value is no text"),
        ([{None: "a"}], r"the key None in payload\.value\[0\] is no text"),
        ("\ud800", "surrogates not allowed"),
    ],
)
def test_what_json_cannot_hold_is_refused_and_nothing_is_sent(value: object, reason: str) -> None:
    messenger = InMemoryBroadcastMessenger()
    event = paid()

    with pytest.raises(BroadcastEnvelopeError, match=reason) as caught:
        subscriber(messenger=messenger, payload=lambda _: {"value": value})(event)

    assert not caught.value.retryable
    assert (caught.value.message_type, caught.value.message_id) == (
        "shop.order-paid",
        event.event_id,
    )
    assert messenger.sent == []


def test_a_payload_holds_texts_whole_numbers_booleans_nothing_lists_and_mappings() -> None:
    held = {"list": ["a", 1, True, None, []], "tuple": (), "mapping": {"a": {}}}

    payload = subscriber(payload=lambda _: held).envelope(paid()).payload

    assert payload == b'{"list":["a",1,true,null,[]],"tuple":[],"mapping":{"a":{}}}'


def test_a_payload_is_a_mapping() -> None:
    with pytest.raises(BroadcastEnvelopeError, match="the payload is no mapping"):
        subscriber(payload=lambda _: ["order-1"])(paid())
    with pytest.raises(BroadcastEnvelopeError, match="the key 1 in payload is no text"):
        subscriber(payload=lambda _: {1: "a"})(paid())


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"tenant": 42}, "the header 'tenant': name and value are text$"),
        ({42: "tenant"}, "the header 42: name and value are text$"),
        ("tenant", "the headers are no mapping$"),
    ],
)
def test_a_header_that_is_no_text_is_refused_and_nothing_is_sent(
    headers: object, reason: str
) -> None:
    messenger = InMemoryBroadcastMessenger()

    with pytest.raises(BroadcastEnvelopeError, match=reason):
        subscriber(messenger=messenger, headers=lambda _: headers)(paid())

    assert messenger.sent == []


def test_the_operation_of_an_event_is_told_whatever_the_headers_say() -> None:
    headers = {"operation-code": "refund"}

    envelope = subscriber(headers=lambda _: headers).envelope(paid().caused_by("pay"))

    assert envelope.headers == {"operation-code": "pay"}
    assert headers == {"operation-code": "refund"}


def test_an_envelope_keeps_its_headers_whatever_becomes_of_those_that_it_was_made_of() -> None:
    headers = {"tenant": "42"}
    envelope = attrs.evolve(subscriber().envelope(paid()), headers=headers)

    headers["tenant"] = "43"

    assert envelope.headers == {"tenant": "42"}


def test_a_message_that_is_not_confirmed_makes_the_subscriber_fail() -> None:
    class Silent:
        def send(self, topic: str, envelope: AggregateMessageEnvelope) -> Receipt:
            raise BroadcastSendError(envelope.message_type, envelope.message_id, "no answer")

    with pytest.raises(BroadcastSendError, match="no answer"):
        subscriber(messenger=Silent())(paid())


def test_behind_an_outbox_a_message_is_sent_until_it_is_confirmed() -> None:
    messenger = InMemoryBroadcastMessenger()
    tries: list[str] = []

    def fail_once(envelope: AggregateMessageEnvelope) -> None:
        tries.append(envelope.message_id)
        if len(tries) == 1:
            raise TimeoutError("no answer")

    messenger.subscribe("shop-orders", fail_once)
    serializer = OrjsonEventSerializer(EventTypeRegistry(OrderPaid))
    encoding, clock = EventEncoding(serializer=serializer), SettableClock()
    store = InMemoryOutboxStore(clock)
    first, second = paid(), paid().placed_at(4, 0)
    store.store([encoding.encode(event, aggregate_type="shop.order") for event in (first, second)])
    events = InMemoryEventManager(serializer)
    events.register_subscriber("tell-others", OrderPaid, subscriber(messenger=messenger))

    with events:
        relay = OutboxRelay(store=store, publisher=events)
        relay.run_once()
        assert messenger.sent == []
        clock.advance(dt.timedelta(minutes=1))
        relay.run_once()
        relay.run_once()

    assert tries == [first.event_id, first.event_id, second.event_id]
    assert [each.envelope.aggregate_version for each in messenger.sent] == [3, 4]


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("messenger", print),
        ("topic", " "),
        ("message_type", "order paid"),
        ("message_version", 0),
        ("aggregate_type", ""),
        ("payload", {}),
        ("headers", {}),
    ],
)
def test_a_subscriber_is_checked_when_it_is_made(field: str, wrong: object) -> None:
    with pytest.raises((TypeError, ValueError), match=field):
        subscriber(**{field: wrong})


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("message_id", ""),
        ("message_type", "a b"),
        ("message_version", 0),
        ("message_version", True),
        ("aggregate_type", None),
        ("aggregate_id", 5),
        ("aggregate_version", 0),
        ("event_index", -1),
        ("event_index", None),
        ("occurred_at", _NOON.replace(tzinfo=None)),
        ("occurred_at", "2026-01-31"),
        ("payload", "{}"),
        ("payload", b""),
        ("payload", b"{'a': 1}"),
        ("payload", b'{"a": NaN}'),
        ("payload", '"ü"'.encode("latin-1")),
        ("headers", []),
        ("headers", {42: "tenant"}),
        ("headers", {"tenant": 42}),
    ],
)
def test_an_envelope_is_checked_when_it_is_made(field: str, wrong: object) -> None:
    envelope = subscriber().envelope(paid())
    assert json.loads(envelope.payload)["order"] == "order-1"

    evolve: Callable[..., object] = attrs.evolve
    with pytest.raises((TypeError, ValueError), match=field):
        evolve(envelope, **{field: wrong})
