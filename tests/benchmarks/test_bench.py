"""The benchmarks' own arithmetic, without a clock."""

from collections.abc import Iterator

import pytest
from rich.console import Console

from tests.benchmarks.findings import Findings
from tests.benchmarks.marks import missed
from tests.benchmarks.measurement import Contender, Measured, Ratio, in_turn, percentile
from tests.benchmarks.table import show


def test_each_contender_starts_a_round_in_its_turn() -> None:
    asked: list[str] = []

    def contender(name: str) -> Contender:
        def ask() -> float:
            asked.append(name)
            return 1.0

        return ask

    in_turn({name: contender(name) for name in "abc"}, rounds=4)

    assert asked == [*"abc", *"bca", *"cab", *"abc"]


def test_what_a_contender_returns_is_kept_by_round() -> None:
    answers: Iterator[float] = iter([1.0, 10.0, 20.0, 2.0])

    measured = in_turn({"one": lambda: next(answers), "other": lambda: next(answers)}, rounds=2)

    assert measured.values == {"one": [1.0, 2.0], "other": [10.0, 20.0]}


def test_a_ratio_is_the_median_of_the_ratios_within_each_round() -> None:
    # The machine was ten times as slow in the second round, and slow for one in the third.
    measured = Measured({"one": [50.0, 5.0, 10.0], "other": [100.0, 10.0, 100.0]})

    assert measured.ratio("one", "other") == Ratio(median=0.5, least=0.1, most=0.5)


def test_a_percentile_is_one_of_the_values() -> None:
    values = [float(one) for one in range(100, 0, -1)]

    assert [percentile(values, share) for share in (0.0, 0.5, 0.99, 1.0)] == [1, 51, 100, 100]


def test_findings_are_nested_at_the_dots_of_their_keys() -> None:
    findings = Findings()
    findings.ratio("drain.sqlite", Ratio(median=0.71234, least=0.5, most=0.9))
    findings.add(_of_a_count("drain.mariadb", 3))
    findings.rate("events_per_second.sqlite", 1234.56)

    assert findings.as_json() == {
        "drain": {"sqlite": 0.712, "mariadb": 3},
        "spread": {"drain.sqlite": [0.5, 0.9]},
        "rates": {"events_per_second.sqlite": 1234.6},
    }


@pytest.mark.parametrize(
    ("key", "met", "not_met"),
    [("relay_vs_handwritten.postgresql", 0.7, 0.69), ("store_overhead.postgresql", 1.45, 1.46)],
)
def test_a_mark_is_met_up_to_its_bound(key: str, met: float, not_met: float) -> None:
    assert missed({key: met}) == []
    assert len(missed({key: not_met})) == 1


def test_a_figure_without_a_mark_misses_none() -> None:
    assert missed({"relay_vs_handwritten_in_order.postgresql": 0.0}) == []


def test_the_table_shows_what_misses_its_mark() -> None:
    console = Console(record=True, width=120, quiet=False)
    findings = _of_a_count("statements_per_round.postgresql", 9)
    findings.rate("events_per_second", 1234.5)

    show("a part", findings, 1.0, console)

    text = console.export_text()
    assert "statements_per_round.postgresql" in text
    assert "missed" in text
    assert "1,234.5" in text


def _of_a_count(key: str, value: float) -> Findings:
    findings = Findings()
    findings.figure(key, value)
    return findings
