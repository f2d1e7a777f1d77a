"""What the figures must come to, and what they aim at."""

from collections.abc import Mapping

import attrs


@attrs.frozen(kw_only=True)
class Mark:
    """A bound of one figure.

    Attributes:
        bound: What it must reach, or not exceed.
        goal: The same beyond what it must.
        is_most: Whether smaller is better.
    """

    bound: float
    goal: float
    is_most: bool

    def is_met_by(self, value: float) -> bool:
        return value <= self.bound if self.is_most else value >= self.bound

    def __str__(self) -> str:
        return f"{'≤' if self.is_most else '≥'} {self.bound:g} ({self.goal:g})"


def _at_least(bound: float, goal: float) -> Mark:
    return Mark(bound=bound, goal=goal, is_most=False)


def _at_most(bound: float, goal: float) -> Mark:
    return Mark(bound=bound, goal=goal, is_most=True)


MARKS: Mapping[str, Mark] = {
    "store_overhead.postgresql": _at_most(1.45, 1.30),
    "relay_vs_handwritten.postgresql": _at_least(0.70, 1.00),
    "relay_vs_handwritten.mariadb": _at_least(0.60, 0.90),
    "hot_1_vs_unique": _at_least(0.80, 0.95),
    "hot_100_vs_unique": _at_least(0.80, 0.95),
    "parked_vs_clean": _at_least(0.80, 0.95),
    "sent_1m_vs_empty": _at_least(0.90, 0.95),
    "eager_handoff_vs_bare_p50": _at_most(3, 2),
    "eager_updates_per_event": _at_most(1.2, 1.0),
    "rss_growth_mb_1m": _at_most(30, 10),
    "statements_per_round.postgresql": _at_most(4, 3),
    "statements_per_round.mariadb": _at_most(5, 5),
    "statements_per_round.with_failures": _at_most(7, 7),
    "rocketmq_vs_bare": _at_least(0.70, 0.90),
    "broker_vs_bare.kafka": _at_least(0.70, 0.90),
    "broker_vs_bare.rabbitmq": _at_least(0.70, 0.90),
    "broker_vs_bare.rocketmq_grpc": _at_least(0.70, 0.90),
    "broker_vs_bare.redis": _at_least(0.70, 0.90),
}


def missed(figures: Mapping[str, float]) -> list[str]:
    """Say which of the figures miss their marks."""
    return [
        f"{key} is {figures[key]:g}, and must be {mark}"
        for key, mark in MARKS.items()
        if key in figures and not mark.is_met_by(figures[key])
    ]
