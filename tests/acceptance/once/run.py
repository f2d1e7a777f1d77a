"""One inbox under fire, and what became of the effects."""

import random
import secrets
import shutil
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from tests.acceptance.once.deliveries import DUPLICATES, OUT_OF_ORDER, deliveries
from tests.acceptance.once.ground import Ground, Part
from tests.acceptance.once.history import messages
from tests.acceptance.once.played_broker import PlayedBroker

FOLDER = Path("build/once")

Figures = dict[str, Any]

# Who keeps the order of an aggregate.
ORDER_KEPT_BY = {
    "nothing": "nobody",
    "message_table": "handler",
    "watermark": "inbox",
    "message_table_behind_redis": "handler",
    "watermark_behind_redis": "inbox",
    "state": "state",
}


@attrs.frozen(kw_only=True)
class Size:
    """How much is delivered.

    Attributes:
        events: Distinct events.
        kills: Consumers that are killed.
        seed: Of everything that is left to chance.
    """

    events: int = 10_000
    kills: int = 10
    seed: int = 7


def run(inbox: str, database: str, size: Size) -> Figures:
    """Deliver a history through consumers that are killed, and count the effects."""
    folder = (FOLDER / f"{inbox}-{database}").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    prefix = f"once_{secrets.token_hex(4)}"
    ground = Ground(Part(inbox=inbox, database=database, prefix=prefix, folder=str(folder)))
    history = messages(size.events, seed=size.seed)
    aggregates = {one.aggregate_id for one in history}
    ground.create(aggregates)
    try:
        plan = deliveries(history, seed=size.seed)
        chance = random.Random(size.seed)
        broker = PlayedBroker(
            part=ground.part,
            messages=history,
            queue=deque(plan.order),
            kill_at=chance.sample(range(1, len(plan.order) - len(plan.order) // 20), size.kills),
            seed=size.seed,
        )
        broker.run()
        applied = ground.applied()
        return {
            "expected": len(history),
            "applied": len(applied),
            "out_of_order": out_of_order(applied),
            "rows": ground.rows(),
            "order_kept_by": ORDER_KEPT_BY[inbox],
            "applied_twice": len(applied) - len(set(applied)),
            "counted": ground.counted(),
            "aggregates": len(aggregates),
            "delivered": broker.delivered,
            "delivered_again": plan.duplicates,
            "delivered_out_of_order": plan.out_of_order,
            "refused_for_now": broker.refused,
            "kills": broker.kills,
            "problems": broker.problems,
        }
    finally:
        ground.drop()


def out_of_order(applied: Sequence[tuple[str, int]]) -> int:
    """Return how many effects were written after that of a later event of their aggregate."""
    latest: dict[str, int] = {}
    late = 0
    for aggregate_id, number in applied:
        late += number < latest.get(aggregate_id, 0)
        latest[aggregate_id] = max(number, latest.get(aggregate_id, 0))
    return late


def broken_rules(inbox: str, figures: Figures, size: Size) -> list[str]:
    """Return what is not as it must be."""
    rows = {"watermark": figures["aggregates"], "message_table": size.events, "state": 0}
    expected = {
        "expected": size.events,
        "applied": size.events,
        "applied_twice": 0,
        "counted": size.events,
        "out_of_order": 0,
        "rows": rows[inbox.removesuffix("_behind_redis")],
        "delivered_again": int(size.events * DUPLICATES),
        "kills": size.kills,
        "problems": [],
    }
    broken = [
        f"{name} is {figures[name]}, not {value}"
        for name, value in expected.items()
        if figures[name] != value
    ]
    if figures["delivered_out_of_order"] < int(size.events * OUT_OF_ORDER):
        broken.append(f"delivered_out_of_order is {figures['delivered_out_of_order']}: too few")
    return broken
