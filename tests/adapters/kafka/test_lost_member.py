"""Members that go without a word: killed, frozen, or silent for too long."""

import datetime as dt
import logging
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs
import pytest

from pragmatic_ddd_kafka import KafkaEventManager
from tests.adapters.kafka.shop import OrderPaid, Topics, an_event_manager, wait_until
from tests.adapters.kafka.stage import Stage
from tests.script import ROOT, child_environment
from tests.services.service import Service

pytestmark = [pytest.mark.service("kafka"), pytest.mark.timeout(120)]

# As short as a busy machine allows: these tests wait until they are over.
SESSION = dt.timedelta(seconds=2)
AGGREGATES = [f"order-{number}" for number in range(12)]

MEMBER = """
    import datetime as dt
    import logging
    import sys
    import threading
    import time

    from tests.adapters.kafka.shop import OrderPaid, an_event_manager

    topic, group, servers, session = sys.argv[1:]
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="log %(message)s")

    def handle(event):
        time.sleep(0.02)
        print("done", event.aggregate_id, event.total, flush=True)

    seconds = dt.timedelta(seconds=float(session))
    manager = an_event_manager(
        topic, bootstrap_servers=servers, consumer_group=group, session_timeout=seconds
    )
    manager.register_subscriber("stock", OrderPaid, handle)
    manager.start()
    threading.Event().wait()
"""


@attrs.define(eq=False)
class Member:
    """A member in a process of its own, and what it says."""

    process: subprocess.Popen[str]
    lines: list[str] = attrs.field(factory=list, init=False)

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def done(self) -> list[tuple[str, int]]:
        """Return what it has handled, in order."""
        words = [line.split() for line in list(self.lines)]
        return [(each[1], int(each[2])) for each in words if each[:1] == ["done"]]

    def wait_for(self, count: int) -> None:
        wait_until(lambda: len(self.done()) >= count, lambda: self.lines[-10:])


@contextmanager
def a_member(stage: Stage, folder: Path) -> Iterator[Member]:
    script = folder / "member.py"
    script.write_text(textwrap.dedent(MEMBER))
    seconds = str(SESSION.total_seconds())
    process = subprocess.Popen(
        [sys.executable, str(script), stage.topic, stage.group, stage.topics.servers, seconds],
        cwd=ROOT,
        env=child_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    member = Member(process)
    listening = threading.Thread(target=member.listen)
    listening.start()
    try:
        yield member
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        listening.join(20)
        process.communicate(timeout=20)


@pytest.fixture
def topics(own_broker: Service) -> Topics:
    return Topics(own_broker.url)


@pytest.fixture
def events(own_broker: Service, topic: str) -> Iterator[KafkaEventManager]:
    with an_event_manager(topic, bootstrap_servers=own_broker.url) as manager:
        yield manager


@pytest.fixture
def stage(topics: Topics, topic: str, group: str, events: KafkaEventManager) -> Iterator[Stage]:
    settings = {"bootstrap_servers": topics.servers, "session_timeout": SESSION}
    with ExitStack() as members:
        yield Stage(topics, topic, group, events, members, settings)


def numbers_of(calls: list[tuple[str, int]], aggregate_id: str) -> list[int]:
    return [number for of, number in calls if of == aggregate_id]


def ours(stage: Stage) -> list[tuple[str, int]]:
    return [call[1:] for call in list(stage.recorded.calls)]


def test_what_a_killed_member_had_in_hand_comes_again_in_order(
    stage: Stage, tmp_path: Path
) -> None:
    with a_member(stage, tmp_path) as member:
        stage.publish(AGGREGATES, range(20))
        member.wait_for(20)
        stage.join()
        wait_until(lambda: stage.recorded.calls)

        member.process.kill()

        everything = {(of, number) for of in AGGREGATES for number in range(20)}
        wait_until(
            lambda: {*member.done(), *ours(stage)} >= everything,
            lambda: len(stage.recorded.calls),
        )
        calls = member.done() + ours(stage)
    for of in AGGREGATES:
        assert list(dict.fromkeys(numbers_of(calls, of))) == list(range(20))


def test_a_member_that_was_frozen_lets_go_of_what_others_have_meanwhile(
    stage: Stage, tmp_path: Path
) -> None:
    with a_member(stage, tmp_path) as member:
        stage.publish(AGGREGATES, range(20))
        member.wait_for(20)
        member.process.send_signal(signal.SIGSTOP)
        before = len(member.done())

        stage.join()
        stage.publish(AGGREGATES, range(20, 30))
        everything = {(of, number) for of in AGGREGATES for number in range(30)}
        wait_until(lambda: {*member.done(), *ours(stage)} >= everything)
        handled = set(ours(stage))
        calls = member.done() + ours(stage)
        member.process.send_signal(signal.SIGCONT)
        wait_until(lambda: "has lost" in "".join(member.lines), lambda: member.lines[-10:])
        wait_until(lambda: "".join(member.lines[before:]).count("has got"))

        stage.publish(AGGREGATES, range(30, 40))
        more = {(of, number) for of in AGGREGATES for number in range(30, 40)}
        wait_until(lambda: {*member.done(), *ours(stage)} >= more)
        late = member.done()[before:]
    for of in AGGREGATES:
        assert list(dict.fromkeys(numbers_of(calls, of))) == list(range(30))
    # What it had in hand, and what it took before it heard that it was out.
    assert len([each for each in late if each in handled]) <= 3


def test_events_that_are_due_at_once_are_not_in_hand_for_the_sum_of_their_times(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """Each is handled within the interval; the group hears of the member in between."""
    aggregates = stage.one_of_each_partition()
    tries: list[str] = []

    def fail_once(event: OrderPaid) -> None:
        tries.append(event.aggregate_id)
        if tries.count(event.aggregate_id) == 1:
            raise ValueError("not yet")
        time.sleep(0.9)

    stage.join("a", fail_once, max_poll_interval=SESSION)
    stage.publish(aggregates, range(1))

    stage.recorded.wait_for(3)
    assert sorted(tries) == sorted(aggregates * 2)
    assert "max-poll-interval" not in caplog.text


def test_an_event_in_hand_for_too_long_comes_again(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[int] = []

    def hang_once(event: OrderPaid) -> None:
        tries.append(event.total)
        if len(tries) == 1:
            time.sleep(3)

    stage.join("a", hang_once, max_poll_interval=SESSION)
    stage.publish(["order-1"], range(2))

    wait_until(
        lambda: stage.recorded.numbers()["order-1"] == [0, 0, 1], lambda: stage.recorded.calls
    )
    assert "for longer than kafka.max-poll-interval" in caplog.text


def test_a_partition_that_waits_for_a_retry_stops_no_other_and_keeps_its_place_in_the_group(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """The pause is longer than a member may be silent."""
    failing, well, _ = stage.one_of_each_partition()
    tries: list[float] = []

    def fail_once(event: OrderPaid) -> None:
        if event.aggregate_id == failing and event.total == 0:
            tries.append(time.monotonic())
            if len(tries) == 1:
                raise ValueError("not yet")

    with caplog.at_level(logging.INFO):
        stage.join(
            "a",
            fail_once,
            max_poll_interval=SESSION,
            retry_backoff_base=SESSION * 1.5,
            retry_backoff_cap=SESSION * 1.5,
        )
        stage.publish([failing, well], range(5))
        wait_until(lambda: len(stage.recorded.numbers()[well]) == 5)
        assert stage.recorded.numbers()[failing] == []
        stage.publish([well], range(5, 10))
        wait_until(lambda: len(stage.recorded.numbers()[well]) == 10)
        stage.recorded.wait_for(15)

    assert tries[1] - tries[0] >= 3
    assert stage.recorded.numbers()[failing] == [0, 1, 2, 3, 4]
    assert "has lost" not in caplog.text
    assert "max-poll-interval" not in caplog.text
