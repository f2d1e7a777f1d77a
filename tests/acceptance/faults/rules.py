"""What the figures of a run must be."""

from collections.abc import Iterator, Mapping
from typing import Any

_ZERO = frozenset(
    {
        *("lost", "phantoms", "overtaken", "duplicates_outside_window", "problems", "errors"),
        *("failed_by_outage", "waited_for_grace", "writes_accepted"),
    }
)


def broken_rules(report: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each figure that breaks a promise, wherever it is in the report."""
    return [*_nonzero("", report), *_others(report)]


def late_recoveries(report: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each database whose rows came back later than they may.

    It breaks the bound of G3, and no other promise: a busy machine can be the reason, too.
    """
    return [
        f"{part}.{database}.{name} is {one[name]}, above {one['recovery_allowed_s']}"
        for part, name in (("kill", "recovery_max_s"), ("restart", "recovery_s"))
        for database, one in report.get(part, {}).items()
        if name in one and one[name] > one["recovery_allowed_s"]
    ]


def _nonzero(path: str, figures: Mapping[str, Any]) -> Iterator[str]:
    for key, value in figures.items():
        here = f"{path}.{key}".removeprefix(".")
        if isinstance(value, Mapping):
            yield from _nonzero(here, value)
        elif key in _ZERO and value:
            yield f"{here} is {value}, not 0"


def _others(report: Mapping[str, Any]) -> Iterator[str]:
    for database, one in report.get("contention", {}).items():
        if one["duplicates"]:
            yield f"contention.{database}.duplicates is {one['duplicates']}, not 0"
        if one["two_relays_hot_1_vs_one"] < 0.5:
            yield (
                f"contention.{database}.two_relays_hot_1_vs_one is "
                f"{one['two_relays_hot_1_vs_one']}, below 0.5"
            )
    outage = report.get("outage", {"rows": 0, "sent_after": 0})
    if outage["sent_after"] != outage["rows"]:
        yield f"outage.sent_after is {outage['sent_after']}, not {outage['rows']}"
    if "stale_owner" in report and not report["stale_owner"]["writes_refused"]:
        yield "stale_owner.writes_refused is 0: nobody tried"
