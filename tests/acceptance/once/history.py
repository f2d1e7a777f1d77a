"""What has happened to the aggregates of a run: each event, and the message that carries it."""

import random

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd.ports import OutboxMessage
from pragmatic_ddd.ports.message_headers import PREVIOUS_PLACE
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer

EVENTS_PER_AGGREGATE = 50
AGGREGATE_TYPE = "once.aggregate"


class Counted(DomainEvent, name="once.counted"):
    """Number ``number`` of the events of its aggregate, from 1."""

    number: int


serializer = OrjsonEventSerializer(EventTypeRegistry(Counted))


def messages(count: int, *, seed: int) -> list[OutboxMessage]:
    """Return messages of aggregates with versions without events, and with several.

    Each says which one of its aggregate was before it, as one that was stored with its place.
    """
    chance = random.Random(seed)
    made: list[OutboxMessage] = []
    aggregate = 0
    while len(made) < count:
        aggregate += 1
        length = min(EVENTS_PER_AGGREGATE, count - len(made))
        made += _history(f"a{aggregate}", length, chance)
    return made


def _history(aggregate_id: str, length: int, chance: random.Random) -> list[OutboxMessage]:
    place, before = (1, 0), "0.0"
    made: list[OutboxMessage] = []
    for number in range(1, length + 1):
        made.append(_message(aggregate_id, number, place, before))
        before = f"{place[0]}.{place[1]}"
        if chance.random() < 0.25:
            place = place[0], place[1] + 1
        else:
            place = place[0] + chance.choice((1, 1, 2, 5)), 0
    return made


def _message(aggregate_id: str, number: int, place: tuple[int, int], before: str) -> OutboxMessage:
    encoding = EventEncoding(serializer=serializer, headers=lambda: {PREVIOUS_PLACE: before})
    event = Counted(aggregate_id=aggregate_id, number=number).placed_at(*place)
    return encoding.encode(event, aggregate_type=AGGREGATE_TYPE)
