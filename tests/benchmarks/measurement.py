"""Contenders measured in turn, in one run: on a shared machine only their ratios mean anything.

    round 1   a b c
    round 2   b c a        each starts a round as often as the others
    round 3   c a b

A ratio is the median over the rounds of the ratio within each round: what slows the machine
down for a while slows both sides of it.
"""

import gc
import statistics
from collections.abc import Callable, Mapping, Sequence

import attrs

Contender = Callable[[], float]


@attrs.frozen(kw_only=True)
class Ratio:
    """What one contender is to another, and how far the rounds are apart."""

    median: float
    least: float
    most: float


@attrs.frozen
class Measured:
    """What each contender came to in each round.

    Attributes:
        values: By contender; seconds or rates, as it has returned them.
    """

    values: Mapping[str, Sequence[float]]

    def median(self, contender: str) -> float:
        return statistics.median(self.values[contender])

    def ratio(self, contender: str, to: str) -> Ratio:
        """Return the median over the rounds of the ratio in each."""
        pairs = zip(self.values[contender], self.values[to], strict=True)
        ratios = [one / other for one, other in pairs]
        return Ratio(median=statistics.median(ratios), least=min(ratios), most=max(ratios))


def in_turn(contenders: Mapping[str, Contender], *, rounds: int) -> Measured:
    """Ask each contender once in each round, whose order rotates."""
    values: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            gc.collect()
            values[name].append(contenders[name]())
    return Measured(values)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
