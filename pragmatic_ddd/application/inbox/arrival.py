"""What an inbox needs to know of an event: read from it, and from the message of its origin."""

import attrs

from pragmatic_ddd.application.event_origin import origin_of
from pragmatic_ddd.domain.events import DomainEvent
from pragmatic_ddd.ports import message_headers
from pragmatic_ddd.ports.event_place import BEFORE_ALL, EventPlace
from pragmatic_ddd.ports.inbox import Arrival, EventGap
from pragmatic_ddd.ports.outbox_message import OutboxMessage

_NO_MESSAGE = "no message has brought it, so nobody says what its aggregate is"
_NO_TYPE = "its message does not say what its aggregate is"
_NO_VERSION = "it has no version: a recorder has stored it, or its aggregate has none"


def arrival_of(event: DomainEvent, subscriber: str) -> Arrival:
    """Return an event as an inbox knows it.

    The place before it is what its message says. Without that, only the events of one version
    are known to follow each other.
    """
    message = origin_of(event)
    if message is None:
        return _unplaced(event, subscriber, "", _NO_MESSAGE)
    if not message.aggregate_type:
        return _unplaced(event, subscriber, "", _NO_TYPE)
    if not message.aggregate_version:
        return _unplaced(event, subscriber, message.aggregate_type, _NO_VERSION)
    try:
        place = EventPlace(
            epoch=_epoch(message), version=message.aggregate_version, index=message.event_index
        )
        previous = _previous(message, place)
    except ValueError as error:
        return _unplaced(event, subscriber, message.aggregate_type, str(error))
    return Arrival(
        subscriber=subscriber,
        message_id=event.event_id,
        aggregate_type=message.aggregate_type,
        aggregate_id=message.aggregate_id,
        place=place,
        previous=previous,
    )


def fetched_arrival_of(event: DomainEvent, gap: EventGap) -> Arrival:
    """Return an event that was missing; where no message has brought it, by what the gap says.

    Then nobody says what was before it, but that the events of one version follow each other.
    """
    subscriber, known = gap.arrival.subscriber, gap.arrival
    if origin_of(event) is not None:
        return arrival_of(event, subscriber)
    if not event.aggregate_version:
        return _unplaced(event, subscriber, known.aggregate_type, _NO_VERSION)
    version, index = event.aggregate_version, event.event_index
    place = EventPlace(epoch=_epoch_of_missing(version, index, gap), version=version, index=index)
    return Arrival(
        subscriber=subscriber,
        message_id=event.event_id,
        aggregate_type=known.aggregate_type,
        aggregate_id=event.aggregate_id,
        place=place,
        previous=_within_version(place),
    )


def _epoch_of_missing(version: int, index: int, gap: EventGap) -> int:
    """Return the epoch of an event that is missing: up to the place before, it is that one's."""
    place, last_missing = gap.arrival.place, gap.arrival.previous
    if last_missing is not None and (version, index) <= (last_missing.version, last_missing.index):
        return last_missing.epoch
    return 0 if place is None else place.epoch


def _unplaced(
    event: DomainEvent, subscriber: str, aggregate_type: str, unplaced_because: str
) -> Arrival:
    return Arrival(
        subscriber=subscriber,
        message_id=event.event_id,
        aggregate_type=aggregate_type,
        aggregate_id=event.aggregate_id,
        unplaced_because=unplaced_because,
    )


def _epoch(message: OutboxMessage) -> int:
    text = message.headers.get(message_headers.AGGREGATE_EPOCH, "0")
    if text.isascii() and text.isdigit() and len(text) < len(str(2**31)):
        return int(text)
    raise ValueError(f"header {message_headers.AGGREGATE_EPOCH} = {text!r:.60}: a whole number")


def _previous(message: OutboxMessage, place: EventPlace) -> EventPlace | None:
    text = message.headers.get(message_headers.PREVIOUS_PLACE)
    if text is None:
        return _within_version(place)
    header = f"header {message_headers.PREVIOUS_PLACE} = {text!r:.60}"
    try:
        previous = EventPlace.parse(text, epoch=place.epoch)
    except ValueError as error:
        raise ValueError(f"{header}: {error}") from error
    if previous.version == BEFORE_ALL.version:
        return BEFORE_ALL
    if previous < place:
        return previous
    if not place.epoch:
        raise ValueError(f"{header}: it is not before {place}")
    # The last event of the aggregate that had the id before.
    return EventPlace.parse(text, epoch=place.epoch - 1)


def _within_version(place: EventPlace) -> EventPlace | None:
    """Return the place before another one of the same version; ``None`` where it is the first."""
    return attrs.evolve(place, index=place.index - 1) if place.index else None
