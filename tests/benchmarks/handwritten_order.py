"""The order that people keep by hand: no event before those of its aggregate are confirmed."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

from tests.benchmarks.handwritten_attributes import Sendable


def waves(messages: Sequence[Sendable], *, width: int) -> Iterator[list[Sendable]]:
    """Yield messages in waves, no two of one aggregate in any; each is confirmed before the next.

    Args:
        messages: In the order of their aggregates' events.
        width: How many messages a wave has at most.
    """
    lanes: dict[str, deque[Sendable]] = defaultdict(deque)
    for message in messages:
        lanes[message.aggregate_id].append(message)
    waiting = deque(lanes.values())
    while waiting:
        wave = [waiting.popleft() for _ in range(min(width, len(waiting)))]
        yield [lane.popleft() for lane in wave]
        waiting.extend(lane for lane in wave if lane)
