"""``python -m pragmatic_ddd_relay backlog``, ``failed``, ``replay`` and ``skip``, as processes."""

import datetime as dt
import subprocess
import sys
from pathlib import Path

import pytest

from pragmatic_ddd.ports import FailedTry, OutboxMessage, OutboxStatus
from pragmatic_ddd.testing.messages import a_message
from pragmatic_ddd_sqlalchemy import SqlAlchemyOutboxStore, metadata
from tests.adapters.relay.shop import outbox_in
from tests.script import ROOT, child_environment

_TIMEOUT_SECONDS = 40


class Operator:
    """Asks of the outbox in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.store: SqlAlchemyOutboxStore = outbox_in(file)
        metadata.create_all(self.store.engine)

    def are_dead(self, *messages: OutboxMessage, error: str = "EventPublishError: no") -> None:
        self.store.store(messages)
        claimed = self.store.claim_pending(batch_size=100, lease=dt.timedelta(minutes=1))
        assert len(claimed) == len(messages)
        self.store.mark_failed([FailedTry(claimed=one, error=error) for one in claimed])

    def status(self, message_id: str) -> OutboxStatus:
        entry = self.store.find(message_id)
        assert entry is not None
        return entry.status

    def asks(self, *arguments: str, encoding: str = "utf-8") -> subprocess.CompletedProcess[str]:
        app = ["--app", "tests.adapters.relay.shop:application"]
        return subprocess.run(
            [sys.executable, "-m", "pragmatic_ddd_relay", *arguments, *app],
            cwd=ROOT,
            env=child_environment(OUTBOX_FILE=str(self._file), PYTHONIOENCODING=encoding),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )


@pytest.fixture
def operator(tmp_path: Path) -> Operator:
    return Operator(tmp_path / "outbox.db")


def test_the_backlog_is_counted_without_starting_anything(operator: Operator) -> None:
    operator.are_dead(a_message("m1", of="a"))
    operator.store.store([a_message("m2", of="b"), a_message("m3", of="c")])

    done = operator.asks("backlog")

    assert (done.returncode, done.stderr) == (0, "")
    *counts, age = done.stdout.splitlines()
    assert counts == ["pending 2", "processing 0", "failed 1"]
    name, seconds = age.split()
    assert name == "oldest_unsent_age_seconds"
    assert 0 <= float(seconds) < 600


def test_dead_letters_are_listed_one_on_each_line_in_columns(operator: Operator) -> None:
    operator.are_dead(
        a_message("m1", of="a\tb\x1b[2J"), error="RuntimeError: first\nsecond " + "x" * 3000
    )
    operator.are_dead(a_message("m2", of="é"))
    entry = operator.store.find("m1")
    assert entry is not None

    done = operator.asks("failed")

    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    *columns, error = first.split("\t")
    assert columns == [
        "m1",
        entry.message.aggregate_type,
        r"a\tb\x1b[2J",
        entry.message.event_type,
        "1",
        entry.created_at.isoformat(timespec="seconds"),
    ]
    assert error.startswith("RuntimeError: first second xxx")
    assert error.endswith("x…")
    assert len(error) <= 1000
    assert second.split("\t")[2] == "é"


def test_what_the_terminal_cannot_show_is_escaped(operator: Operator) -> None:
    operator.are_dead(a_message("m1", of="é"))

    done = operator.asks("failed", encoding="ascii")

    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\t")[2] == r"\xe9"


def test_dead_letters_come_a_page_at_a_time(operator: Operator) -> None:
    operator.are_dead(*[a_message(f"m{number}", of=str(number)) for number in range(3)])

    page = operator.asks("failed", "--limit", "2")
    rest = operator.asks("failed", *page.stderr.split()[-2:])
    nothing = operator.asks("failed", "--after-id", "99")

    assert [line.split("\t")[0] for line in page.stdout.splitlines()] == ["m0", "m1"]
    assert page.stderr == "there may be more: --after-id 2\n"
    assert [line.split("\t")[0] for line in rest.stdout.splitlines()] == ["m2"]
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert nothing.stderr == "nothing is dead after 99\n"


def test_a_reader_that_reads_no_further_ends_the_list_in_silence(operator: Operator) -> None:
    operator.are_dead(*[a_message(f"m{number}", of=str(number)) for number in range(50)])
    operator.are_dead(a_message("m", of="a"), error="x" * 4000)
    command = f"{sys.executable} -m pragmatic_ddd_relay failed --app tests.adapters.relay.shop:"

    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}application | true"],
        cwd=ROOT,
        env=child_environment(OUTBOX_FILE=str(operator.store.engine.url.database)),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_where_nothing_is_dead_it_is_said(operator: Operator) -> None:
    done = operator.asks("failed")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "nothing is dead\n")


def test_dead_letters_are_replayed(operator: Operator) -> None:
    operator.are_dead(a_message("m1", of="a"), a_message("m2", of="b"))

    done = operator.asks("replay", "m1", "m2", "m1")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "replayed 2 of 2; the next poll of a relay sends them\n"
    assert operator.status("m1") == operator.status("m2") == OutboxStatus.PENDING


def test_what_was_not_replayed_is_said_and_fails_the_command(operator: Operator) -> None:
    operator.are_dead(a_message("m1", of="a"), a_message("m2", of="b"))
    operator.store.skip(["m2"], by="ann", reason="no")

    done = operator.asks("replay", "m1", "m2", "m\n9")

    assert done.returncode == 1
    assert done.stdout.startswith("replayed 1 of 3;")
    assert done.stderr.splitlines() == [
        "m2: passed over, it is SKIPPED",
        r"m\n9: passed over, it is not in the outbox",
    ]


def test_what_was_skipped_is_replayed_where_that_is_asked_for(operator: Operator) -> None:
    operator.are_dead(a_message("m1"))
    operator.store.skip(["m1"], by="ann", reason="no")

    done = operator.asks("replay", "m1", "--out-of-order")

    assert (done.returncode, done.stderr) == (0, "")
    assert operator.status("m1") == OutboxStatus.PENDING


def test_dead_letters_are_skipped_by_somebody_for_a_reason(operator: Operator) -> None:
    operator.are_dead(a_message("m1"))

    done = operator.asks("skip", "m1", "m9", "--by", "ann", "--reason", "there are no unicorns")

    assert done.returncode == 1
    assert done.stdout.startswith("skipped 1 of 2;")
    assert done.stderr == "m9: passed over, it is not in the outbox\n"
    entry = operator.store.find("m1")
    assert entry is not None
    assert entry.status == OutboxStatus.SKIPPED
    assert "ann" in str(entry.last_error)
    assert "there are no unicorns" in str(entry.last_error)


def test_an_outbox_that_cannot_be_read_is_one_sentence(operator: Operator) -> None:
    metadata.drop_all(operator.store.engine)

    done = operator.asks("failed")

    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert "no such table" in line


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["replay"], "MESSAGE_ID"),
        (["skip", "m1", "--by", "ann"], "--reason"),
        (["skip", "m1", "--by", " ", "--reason", "no"], "argument --by: say it in words"),
        (["skip", "m1", "--by", "ann", "--reason", ""], "argument --reason: say it in words"),
        (["failed", "--limit", "0"], "argument --limit: 0 is not above 0"),
        (["failed", "--limit", "x"], "argument --limit"),
    ],
)
def test_wrong_arguments_change_nothing(
    operator: Operator, arguments: list[str], reason: str
) -> None:
    operator.are_dead(a_message("m1"))

    done = operator.asks(*arguments)

    assert done.returncode == 2
    assert reason in done.stderr
    assert operator.status("m1") == OutboxStatus.FAILED
