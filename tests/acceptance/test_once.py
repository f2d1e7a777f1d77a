"""The run of `make once`, in small: what it delivers, and that it sees what is wrong."""

from pathlib import Path

import pytest

from tests.acceptance.once.deliveries import count_early, deliveries
from tests.acceptance.once.history import messages
from tests.acceptance.once.run import Size, broken_rules, out_of_order, run

_SMALL = Size(events=200, kills=2)


@pytest.fixture(autouse=True)
def _in_its_own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.acceptance.once.run.FOLDER", tmp_path)


def test_each_event_says_which_one_was_before_it() -> None:
    history = [one for one in messages(200, seed=1) if one.aggregate_id == "a2"]

    places = [f"{one.aggregate_version}.{one.event_index}" for one in history]
    assert [one.headers["previousplace"] for one in history] == ["0.0", *places[:-1]]
    assert len(set(places)) == 50


def test_a_fifth_comes_again_and_a_twentieth_too_soon() -> None:
    history = messages(10_000, seed=1)

    plan = deliveries(history, seed=1)

    assert len(plan.order) == 12_000
    assert set(plan.order) == set(range(10_000))
    assert plan.duplicates == 2000
    assert plan.out_of_order == 500
    first_of_each = list(dict.fromkeys(plan.order))
    assert count_early(first_of_each, history) == 500


def test_effects_out_of_order_are_seen() -> None:
    assert out_of_order([("a", 1), ("b", 1), ("a", 3), ("a", 2), ("a", 4), ("b", 1)]) == 1


@pytest.mark.parametrize("inbox", ["message_table", "watermark", "state"])
def test_an_inbox_has_each_effect_once_and_in_order(inbox: str) -> None:
    figures = run(inbox, "sqlite", _SMALL)

    assert broken_rules(inbox, figures, _SMALL) == []


def test_without_an_inbox_it_shows() -> None:
    figures = run("nothing", "sqlite", _SMALL)

    assert figures["applied"] > figures["expected"]
    assert figures["out_of_order"] > 0
    assert "applied is" in str(broken_rules("watermark", figures, _SMALL))
