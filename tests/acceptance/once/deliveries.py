"""In which order a broker without manners delivers: some events again, and some too soon."""

import random
from collections.abc import Sequence

import attrs

from pragmatic_ddd.ports import OutboxMessage

DUPLICATES = 0.20
OUT_OF_ORDER = 0.05
_FURTHEST = 400


@attrs.frozen(kw_only=True)
class Deliveries:
    """What is to be delivered: indexes of messages, first to last.

    Attributes:
        order: Each message at least once.
        duplicates: How many of them are there again.
        out_of_order: How many come before an earlier one of their aggregate.
    """

    order: Sequence[int]
    duplicates: int
    out_of_order: int


def deliveries(messages: Sequence[OutboxMessage], *, seed: int) -> Deliveries:
    """Mix the aggregates, put some events before their predecessors, and repeat some later."""
    chance = random.Random(seed)
    order = _mixed(messages, chance)
    _swap(order, messages, chance)
    early = count_early(order, messages)
    again = chance.sample(range(len(order)), int(len(order) * DUPLICATES))
    later = [(place + chance.randint(1, _FURTHEST) + 0.5, order[place]) for place in again]
    merged = sorted([*((float(place), index) for place, index in enumerate(order)), *later])
    return Deliveries(
        order=[index for _, index in merged], duplicates=len(later), out_of_order=early
    )


def count_early(order: Sequence[int], messages: Sequence[OutboxMessage]) -> int:
    """Return how many come before an earlier one of their aggregate."""
    early = 0
    lowest_to_come: dict[str, int] = {}
    for index in reversed(order):
        aggregate_id = messages[index].aggregate_id
        lowest = lowest_to_come.get(aggregate_id, index)
        early += index > lowest
        lowest_to_come[aggregate_id] = min(index, lowest)
    return early


def _mixed(messages: Sequence[OutboxMessage], chance: random.Random) -> list[int]:
    """Return the indexes, mixed, each aggregate's in their order."""
    of: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        of.setdefault(message.aggregate_id, []).append(index)
    turns = [message.aggregate_id for message in messages]
    chance.shuffle(turns)
    waiting = {aggregate_id: iter(indexes) for aggregate_id, indexes in of.items()}
    return [next(waiting[aggregate_id]) for aggregate_id in turns]


def _swap(order: list[int], messages: Sequence[OutboxMessage], chance: random.Random) -> None:
    """Exchange some with the one of their aggregate that follows; no event twice."""
    places: dict[str, list[int]] = {}
    for place, index in enumerate(order):
        places.setdefault(messages[index].aggregate_id, []).append(place)
    pairs = [
        (own[n], own[n + 1])
        for own in places.values()
        for n in range(chance.randint(0, 1), len(own) - 1, 2)
    ]
    for first, second in chance.sample(pairs, int(len(order) * OUT_OF_ORDER)):
        order[first], order[second] = order[second], order[first]
