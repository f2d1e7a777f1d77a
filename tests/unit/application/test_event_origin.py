import attrs
import pytest

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.application.event_origin import origin_of, with_origin
from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd_local import InMemoryEventManager, ThreadPoolEventManager
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer


class ParcelSent(DomainEvent, name="test.origin.parcel.sent"):
    origin: str = "Hamburg"


serializer = OrjsonEventSerializer(EventTypeRegistry(ParcelSent))
encoding = EventEncoding(serializer=serializer)
event = ParcelSent(aggregate_id="1").placed_at(3, 1)
message = encoding.encode(event, aggregate_type="test.parcel")


def test_an_event_that_was_just_raised_has_no_origin() -> None:
    assert origin_of(event) is None


def test_an_event_knows_the_message_that_has_brought_it() -> None:
    brought = with_origin(event, message)

    assert origin_of(brought) is message
    assert origin_of(event) is None


def test_its_origin_is_no_part_of_an_event() -> None:
    brought = with_origin(event, message)

    assert brought == event
    assert hash(brought) == hash(event)
    assert repr(brought) == repr(event)
    assert serializer.serialize(brought) == serializer.serialize(event)
    assert attrs.asdict(brought) == attrs.asdict(event)  # type: ignore[arg-type]  # no protocol
    assert brought.origin == "Hamburg"


def test_a_decoded_message_is_the_origin() -> None:
    assert origin_of(encoding.decode(message)) is message


@pytest.mark.parametrize("kind", [InMemoryEventManager, ThreadPoolEventManager])
def test_a_subscriber_of_an_event_manager_in_process_is_told(
    kind: type[InMemoryEventManager | ThreadPoolEventManager],
) -> None:
    told: list[object] = []
    manager = kind(serializer)
    manager.register_subscriber("first", ParcelSent, lambda one: told.append(origin_of(one)))
    manager.register_subscriber(
        "then", ParcelSent, lambda one: told.append(origin_of(one)), depends_on=["first"]
    )
    with manager:
        manager.publish_stored(message)

    assert told == [message, message]
