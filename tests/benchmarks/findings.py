"""What the parts have found out: figures by dotted key, their spread, and rates for scale."""

from typing import Any

import attrs

from tests.benchmarks.measurement import Measured, Ratio


@attrs.define(eq=False)
class Findings:
    """Filled by the parts, written as JSON.

    Attributes:
        figures: Ratios and counts, such as ``relay_vs_handwritten.postgresql``.
        spread: Least and most of a ratio over the rounds, by the same keys.
        rates: Medians in a unit of their own, which drift with the machine: never compare those
            of two runs.
    """

    figures: dict[str, float] = attrs.field(factory=dict)
    spread: dict[str, tuple[float, float]] = attrs.field(factory=dict)
    rates: dict[str, float] = attrs.field(factory=dict)

    def ratio(self, key: str, ratio: Ratio) -> None:
        self.figures[key] = round(ratio.median, 3)
        self.spread[key] = (round(ratio.least, 3), round(ratio.most, 3))

    def figure(self, key: str, value: float) -> None:
        self.figures[key] = round(value, 3)

    def rate(self, key: str, value: float) -> None:
        self.rates[key] = round(value, 1)

    def medians(self, prefix: str, measured: Measured) -> None:
        """Note the median of every contender."""
        for name in measured.values:
            self.rate(f"{prefix}.{name}", measured.median(name))

    def add(self, other: "Findings") -> None:
        self.figures |= other.figures
        self.spread |= other.spread
        self.rates |= other.rates

    def as_json(self) -> dict[str, Any]:
        """Return the figures, nested where their keys have dots, with spread and rates beside."""
        nested: dict[str, Any] = {}
        for key, value in self.figures.items():
            *path, last = key.split(".")
            inner = nested
            for name in path:
                inner = inner.setdefault(name, {})
            inner[last] = value
        spread = {key: list(ends) for key, ends in self.spread.items()}
        return nested | {"spread": spread, "rates": self.rates}
