"""The judges of the run under faults: what they must count, and what they must excuse."""

import datetime as dt
import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
import sqlalchemy as sa

from pragmatic_ddd.application.outbox.config import OutboxRelayConfig
from pragmatic_ddd.testing.messages import a_message
from pragmatic_ddd_sqlalchemy import SqlAlchemyOutboxStore
from tests.acceptance.faults.broker.journal import Copy
from tests.acceptance.faults.children import Child
from tests.acceptance.faults.crew import Crew
from tests.acceptance.faults.diary import Note
from tests.acceptance.faults.kill.failpoint import FAILPOINTS
from tests.acceptance.faults.kill.play import Task
from tests.acceptance.faults.kill.run import ALLOWED_SECONDS, KillRun, longest_recovery
from tests.acceptance.faults.lateness import Journey, journeys, waited_without_need
from tests.acceptance.faults.rows import UnsentRow
from tests.acceptance.faults.rules import broken_rules, late_recoveries
from tests.acceptance.faults.stage import Stage
from tests.acceptance.faults.verdict import judge, unexcused
from tests.acceptance.tally import tally

RELAY, ANOTHER = 11, 12
GRACE = 10.0


def a_copy(
    event_id: str,
    *,
    of: str = "a",
    version: int = 1,
    index: int = 0,
    sender: int = RELAY,
    at: float,
) -> Copy:
    return Copy(
        event_id=event_id,
        aggregate_id=of,
        version=version,
        index=index,
        kind="moved",
        sender=sender,
        at=at,
    )


def a_note(what: str, *event_ids: str, at: float, by: int = RELAY, until: float = 0.0) -> Note:
    return Note(process=by, at=at, what=what, event_ids=event_ids, until=until)


def a_journey(event_id: str, stored_at: float, arrived_at: float, *, of: str = "a") -> Journey:
    return Journey(event_id=event_id, aggregate_id=of, stored_at=stored_at, arrived_at=arrived_at)


def late(made: list[Journey], *notes: Note) -> list[str]:
    return [one.event_id for one in waited_without_need(made, notes, GRACE)]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage.new("sqlite", folder=tmp_path, broker_port=0, config=OutboxRelayConfig())


def test_a_later_event_before_an_earlier_one_is_overtaking_once_for_each_that_comes_late() -> None:
    arrived = [
        a_copy("e1", version=1, at=1.0),
        a_copy("e3", version=3, at=2.0),
        a_copy("e2", version=2, at=3.0),
        a_copy("e2b", version=2, index=1, at=4.0),
        a_copy("of another", of="b", version=1, at=5.0),
    ]

    seen = tally(arrived)

    assert (seen.received, seen.duplicates, seen.overtaken) == (5, 0, 2)


def test_a_further_copy_overtakes_nothing() -> None:
    arrived = [
        a_copy("e1", at=1.0),
        a_copy("e2", version=2, at=2.0),
        a_copy("e1", at=3.0),
    ]

    seen = tally(arrived)

    assert (seen.received, seen.duplicates, seen.overtaken) == (2, 1, 0)


def test_a_copy_without_an_excuse_is_told() -> None:
    first, second = a_copy("e1", at=1.0), a_copy("e1", sender=ANOTHER, at=2.0)
    notes = [a_note("claimed", "e1", at=0.5, until=60.0)]

    assert unexcused([first, second], notes, killed=()) == [second]
    assert unexcused([first, second], notes, killed=[RELAY]) == [second], "its lease still runs"


def test_a_copy_after_an_unknown_outcome_is_excused_but_not_one_more() -> None:
    copies = [a_copy("e1", sender=sender, at=at) for at, sender in enumerate((RELAY, ANOTHER, 13))]

    assert unexcused(copies, [a_note("unconfirmed", "e1", at=0.5)], killed=()) == copies[2:]
    assert unexcused(copies, [a_note("unconfirmed", "e2", at=0.5)], killed=()) == copies[1:]


def test_an_unknown_outcome_excuses_no_copy_after_a_confirmed_one() -> None:
    first, second, third = (a_copy("e1", at=at) for at in (1.0, 2.0, 3.0))

    assert unexcused([first, second], [a_note("unconfirmed", "e1", at=2.5)], killed=()) == [second]
    assert unexcused([first, second, third], [a_note("unconfirmed", "e1", at=1.5)], killed=()) == [
        third
    ]


def test_a_copy_that_comes_after_its_sender_lost_patience_is_excused() -> None:
    copies = [a_copy("e1", at=2.0), a_copy("e1", at=3.0)]

    assert unexcused(copies, [a_note("unconfirmed", "e1", at=1.0)], killed=()) == []


def test_a_copy_is_excused_when_the_first_sender_died_and_its_lease_is_over() -> None:
    notes = [a_note("claimed", "e1", at=0.5, until=2.0)]

    first, second = a_copy("e1", at=1.0), a_copy("e1", sender=ANOTHER, at=2.5)
    assert unexcused([first, second], notes, killed=[RELAY]) == []
    assert unexcused([first, second], notes, killed=[ANOTHER]) == [second]


def a_recovery(*unsent: UnsentRow, notes: Sequence[Note] = (), **replayed_at: float) -> float:
    """Of rows whose process died at 10, under leases of a second."""
    arrived = [a_copy(row.message_id, of=row.aggregate_id, at=15.0) for row in unsent]
    return longest_recovery(
        unsent,
        arrived,
        ready_at=10.0,
        leases_over_at=11.0,
        replayed_at=replayed_at,
        notes=notes,
    )


def test_recovery_begins_when_somebody_could_take_the_row() -> None:
    assert a_recovery(UnsentRow("e1", "a", 9.0, is_owned=False)) == 5.0
    assert a_recovery(UnsentRow("e1", "a", 10.5, is_owned=True)) == 4.5


def test_a_row_that_is_due_later_than_any_lease_has_no_excuse() -> None:
    assert a_recovery(UnsentRow("e1", "a", 14.0, is_owned=True)) == 4.0


def test_what_is_dead_in_another_aggregate_delays_no_recovery() -> None:
    row = UnsentRow("e1", "a", 9.0, is_owned=False)

    assert (a_recovery(row, a=14.0), a_recovery(row, b=14.0)) == (1.0, 5.0)


def test_a_refusal_ends_a_recovery_and_delays_those_behind_it() -> None:
    refused, behind, other = (
        UnsentRow(name, of, 9.0, is_owned=False)
        for name, of in (("e1", "a"), ("e2", "a"), ("e3", "b"))
    )
    notes = [a_note("refused", "e1", at=at) for at in (9.5, 11.0, 12.0)]

    assert a_recovery(refused, notes=notes) == 1.0
    assert a_recovery(refused, behind, notes=notes) == 1.0, "e1 came at 15, and e2 as soon"
    assert a_recovery(refused, other, notes=notes) == 5.0
    assert a_recovery(refused, notes=notes[:1]) == 5.0, "it was before the end"


@pytest.mark.parametrize(
    "figures",
    [
        {"contention": {"sqlite": {"duplicates": 1, "two_relays_hot_1_vs_one": 1.0}}},
        {"contention": {"sqlite": {"duplicates": 0, "two_relays_hot_1_vs_one": 0.4}}},
        {"eager_ordered": {"duplicates_outside_window": 1}},
        {"eager_ordered": {"waited_for_grace": 1}},
        {"outage": {"rows": 1000, "sent_after": 999}},
        {"restart": {"rocketmq": {"problems": ["restart rocketmq: nobody came"]}}},
        {"stale_owner": {"writes_refused": 0}},
    ],
)
def test_a_figure_that_breaks_a_promise_is_told(figures: dict[str, Any]) -> None:
    assert len(broken_rules(figures)) == 1
    assert late_recoveries(figures) == []


def test_a_late_recovery_is_told_apart_from_a_broken_promise() -> None:
    on_time = {"recovery_max_s": 1.2, "recovery_s": 1.2, "recovery_allowed_s": 1.2, "problems": 0}
    late_one = {**on_time, "recovery_max_s": 1.3, "recovery_s": 1.4}
    report = {
        "kill": {"sqlite": late_one, "mariadb": on_time},
        "restart": {"postgresql": late_one, "mariadb": on_time, "rocketmq": {"problems": []}},
    }

    assert late_recoveries(report) == [
        "kill.sqlite.recovery_max_s is 1.3, above 1.2",
        "restart.postgresql.recovery_s is 1.4, above 1.2",
    ]
    assert broken_rules(report) == []


@pytest.mark.parametrize("seconds", [ALLOWED_SECONDS, ALLOWED_SECONDS + 0.01])
def test_a_recovery_is_late_when_it_took_longer_than_allowed(
    seconds: float, tmp_path: Path
) -> None:
    task = Task(
        failpoint=FAILPOINTS[0], database="sqlite", passage=1, folder=tmp_path, broker_port=0
    )

    assert KillRun(task=task, recovery_seconds=seconds).is_late == (seconds > ALLOWED_SECONDS)


def test_what_was_late_without_trouble_has_waited_without_need() -> None:
    made = [a_journey("on time", 0.0, 9.9), a_journey("late", 0.0, 10.1)]

    assert late(made) == ["late"]


@pytest.mark.parametrize("trouble", ["refused", "unconfirmed", "left_to_relay"])
def test_the_trouble_of_its_own_aggregate_excuses_what_is_late(trouble: str) -> None:
    elder, late_one = a_journey("elder", 0.0, 15.0), a_journey("late", 1.0, 15.1)

    assert late([elder, late_one], a_note(trouble, "elder", at=0.5)) == []


def test_what_is_late_is_excused_no_longer_than_grace_after_the_trouble() -> None:
    elder = a_journey("elder", 0.0, 3.0)
    in_time, late_one = a_journey("in time", 1.0, 12.9), a_journey("late", 1.0, 13.1)

    assert late([elder, in_time, late_one], a_note("refused", "elder", at=0.5)) == ["late"]


def test_trouble_of_another_aggregate_excuses_nothing() -> None:
    made = [a_journey("elder", 0.0, 15.0, of="b"), a_journey("late", 0.0, 15.1)]

    assert late(made, a_note("refused", "elder", at=0.5)) == ["late"]


def test_trouble_that_was_over_or_of_a_younger_one_excuses_nothing() -> None:
    over, late_one = a_journey("over", 0.0, 0.9), a_journey("late", 1.0, 15.0)
    younger = a_journey("younger", 1.5, 17.0)
    notes = [a_note("refused", "over", at=0.5), a_note("left_to_relay", "younger", at=1.5)]

    assert late([over, late_one, younger], *notes) == ["late"]


def test_a_run_is_judged_by_what_was_committed(stage: Stage, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    with stage.built():
        stage.open_accounts(["a"], moves=3)
        outbox = stage.tables()[1]
        store = SqlAlchemyOutboxStore(stage.judges_engine(), outbox)
        store.store([a_message(f"e{version}", of="a", version=version) for version in (1, 2, 3)])
        arrived = [
            a_copy("e2", version=2, at=1.0),
            a_copy("e1", version=1, at=2.0),
            a_copy("e1", version=1, sender=ANOTHER, at=3.0),
            a_copy("never committed", version=4, at=4.0),
        ]
        lines = [json.dumps(attrs.asdict(one)) for one in arrived]
        journal.write_text("\n".join([*lines, '{"half a li']))
        stage.diary.error("something")

        verdict = judge(stage, journal)

        assert attrs.asdict(verdict) == {
            "events": 3,
            "lost": 1,
            "phantoms": 1,
            "overtaken": 1,
            "duplicates": 1,
            "outside_window": 1,
            "errors": 1,
        }
        assert stage.unsent() == 3


def test_an_event_without_its_change_is_a_phantom(stage: Stage, tmp_path: Path) -> None:
    with stage.built():
        stage.open_accounts(["a", "b"], moves=1)
        store = SqlAlchemyOutboxStore(stage.judges_engine(), stage.tables()[1])
        store.store([a_message("e1", of="a"), a_message("e2", of="a", version=2)])

        assert judge(stage, tmp_path / "none").phantoms == 2, "one too many, and one too few"


def test_a_journey_begins_with_the_row_and_ends_with_the_first_copy(
    stage: Stage, tmp_path: Path
) -> None:
    journal = tmp_path / "journal.jsonl"
    with stage.built():
        outbox = stage.tables()[1]
        engine = stage.judges_engine()
        long_ago = dt.datetime.fromtimestamp(100, dt.UTC)
        store = SqlAlchemyOutboxStore(engine, outbox)
        store.store([a_message("e1", of="a"), a_message("on its way", of="b")])
        with engine.begin() as connection:
            connection.execute(sa.update(outbox).values(created_at=long_ago))
        arrived = [a_copy("e1", at=101.5), a_copy("e1", at=300.0)]
        journal.write_text("".join(json.dumps(attrs.asdict(one)) + "\n" for one in arrived))

        (made,) = journeys(stage, journal)

        assert (made.event_id, made.aggregate_id, made.seconds) == ("e1", "a", 1.5)


def a_process(*command: str) -> Child:
    return Child(command[0], os.posix_spawnp(command[0], command, os.environ))


def test_a_crew_tells_who_failed_and_who_was_not_done_in_time(tmp_path: Path) -> None:
    crew = Crew(tmp_path / "log")
    well, failing, endless = a_process("true"), a_process("false"), a_process("sleep", "60")

    assert crew.wait([well, failing], deadline=time.monotonic() + 30)
    assert not crew.wait([endless], deadline=0.0)
    assert not crew.wait_for(lambda: False, 0.0, "what never comes")
    endless.send(signal.SIGKILL)
    crew.end([endless])

    assert [one.partition(":")[0] for one in crew.problems] == [
        "false ended by 1",
        "sleep still runs when the time is over",
        "waited 0 s for what never comes",
        "sleep ended by -9",
    ]
