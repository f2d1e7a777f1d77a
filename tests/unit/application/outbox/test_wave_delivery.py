"""Many aggregates in one call: each in its order, none kept by another one's failure."""

import datetime as dt
import logging
from collections.abc import Sequence
from typing import cast

import attrs
import pytest

from pragmatic_ddd.application.outbox import BrokerHealth, OutboxRelay
from pragmatic_ddd.application.outbox.answers import Answers
from pragmatic_ddd.application.outbox.retry import Backoff
from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.application.outbox.wave_delivery import WaveDelivery
from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
)
from pragmatic_ddd.ports import IPipelinedEventPublisher, OutboxMessage, PublishPath, Receipt
from pragmatic_ddd.ports.outbox_message import ClaimedMessage
from pragmatic_ddd.testing.clock import SettableClock
from pragmatic_ddd.testing.messages import a_message
from pragmatic_ddd_local import CountingMetrics, InMemoryOutboxStore
from tests.unit.application.outbox.builders import a_claim, seconds


@attrs.define
class Waves(IPipelinedEventPublisher):
    """Takes what it is given, but for the messages that it has other answers for."""

    answers: dict[str, object] = attrs.field(factory=dict)
    waves: list[list[str]] = attrs.field(factory=list)
    forgets: int = 0

    @property
    def longest_call(self) -> dt.timedelta:
        return seconds(3)

    @property
    def side_by_side(self) -> int:
        return 1

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        raise AssertionError("one by one")

    def publish_many(self, messages: Sequence[OutboxMessage]) -> Sequence[Receipt | Exception]:
        ids = [message.message_id for message in messages]
        self.waves.append(ids)
        answers = [self.answers.get(one, Receipt(f"receipt of {one}")) for one in ids]
        for answer in answers:
            if isinstance(answer, KeyboardInterrupt):
                raise answer
        return cast("list[Receipt | Exception]", answers[self.forgets :])


@pytest.fixture
def publisher() -> Waves:
    return Waves()


@pytest.fixture
def delivery(publisher: Waves) -> WaveDelivery:
    answers = Answers(
        health=BrokerHealth(),
        backoff=Backoff(base=seconds(1), cap=seconds(60)),
        max_attempts=10,
        metrics=CountingMetrics(),
        path=PublishPath.RELAY,
    )
    return WaveDelivery(publisher=publisher, answers=answers, monotonic=lambda: 100.0)


def never() -> bool:
    return False


def two_aggregates() -> list[ClaimedMessage]:
    """Rows 1 to 3 of one aggregate, and 4 to 5 of another one."""
    return [a_claim(row, of="a" if row < 4 else "b") for row in range(1, 6)]


def rows(outcome: Settlement) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return the rows sent, failed, dead and untried."""
    return (
        sorted(one.claimed.id for one in outcome.sent),
        sorted(one.claimed.id for one in outcome.failed),
        sorted(one.claimed.id for one in outcome.dead),
        sorted(one.id for one in outcome.untried),
    )


def id_of(row: int) -> str:
    return a_claim(row).message.message_id


def test_each_call_has_the_next_message_of_each_aggregate(
    delivery: WaveDelivery, publisher: Waves
) -> None:
    outcome = delivery.deliver_all(two_aggregates(), stopped=never)

    assert publisher.waves == [[id_of(1), id_of(4)], [id_of(2), id_of(5)], [id_of(3)]]
    assert rows(outcome) == ([1, 2, 3, 4, 5], [], [], [])
    assert outcome.is_confirmed


def test_a_failure_gives_back_its_aggregate_and_no_other(
    delivery: WaveDelivery, publisher: Waves
) -> None:
    publisher.answers[id_of(1)] = EventPublishError(id_of(1), "topic", "not now")

    outcome = delivery.deliver_all(two_aggregates(), stopped=never)

    assert rows(outcome) == ([4, 5], [1], [], [2, 3])


def test_what_is_refused_for_good_is_dead(delivery: WaveDelivery, publisher: Waves) -> None:
    publisher.answers[id_of(5)] = EventRejectedError(id_of(5), "topic", "too large")

    outcome = delivery.deliver_all(two_aggregates(), stopped=never)

    assert rows(outcome) == ([1, 2, 3, 4], [], [5], [])


@pytest.mark.parametrize("answer", [None, "ok", ValueError("a bug"), SystemExit(1)])
def test_anything_but_a_receipt_is_no_confirmation(
    delivery: WaveDelivery, publisher: Waves, answer: object
) -> None:
    publisher.answers[id_of(4)] = answer

    assert rows(delivery.deliver_all(two_aggregates(), stopped=never)) == ([1, 2, 3], [4], [], [5])


def test_answers_that_cannot_be_told_apart_confirm_nothing(
    delivery: WaveDelivery, publisher: Waves
) -> None:
    publisher.forgets = 1

    outcome = delivery.deliver_all(two_aggregates(), stopped=never)

    assert rows(outcome) == ([], [1, 4], [], [2, 3, 5])
    assert EventUnconfirmedError.__name__ in outcome.failed[0].error


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("a bug"),
        EventRejectedError("one of them", "topic", "too large"),
        BrokerUnavailableError("one of them", "topic", "refused"),
    ],
)
def test_a_call_that_raises_is_no_confirmation_and_nobodys_fault(
    delivery: WaveDelivery, publisher: Waves, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(_: object, __: object) -> Sequence[Receipt | Exception]:
        raise error

    monkeypatch.setattr(Waves, "publish_many", breaks)

    outcome = delivery.deliver_all(two_aggregates(), stopped=never)

    assert rows(outcome) == ([], [1, 4], [], [2, 3, 5])
    assert not any(one.counted for one in outcome.failed)


def test_ctrl_c_keeps_what_was_confirmed_and_gives_back_the_rest(
    delivery: WaveDelivery, publisher: Waves
) -> None:
    publisher.answers[id_of(2)] = KeyboardInterrupt()

    outcome = delivery.deliver_all(two_aggregates(), stopped=never)

    assert rows(outcome) == ([1, 4], [], [], [2, 3, 5])
    assert outcome.interrupt is not None


def test_no_wave_begins_once_it_is_to_stop(delivery: WaveDelivery, publisher: Waves) -> None:
    outcome = delivery.deliver_all(two_aggregates(), stopped=lambda: len(publisher.waves) == 1)

    assert rows(outcome) == ([1, 4], [], [], [2, 3, 5])


def test_what_might_end_after_its_lease_goes_back(delivery: WaveDelivery, publisher: Waves) -> None:
    late = [attrs.evolve(one, deadline=103.0) for one in two_aggregates()[:3]]

    outcome = delivery.deliver_all([*late, *two_aggregates()[3:]], stopped=never)

    assert publisher.waves == [[id_of(4)], [id_of(5)]]
    assert rows(outcome) == ([4, 5], [], [], [1, 2, 3])


def test_what_has_lapsed_too_often_is_buried_unsent(
    delivery: WaveDelivery, publisher: Waves
) -> None:
    spent = attrs.evolve(a_claim(1, of="a"), taken_over=True, attempts=10)

    outcome = delivery.deliver_all([spent, *two_aggregates()[1:]], stopped=never)

    assert publisher.waves == [[id_of(4)], [id_of(5)]]
    assert rows(outcome) == ([4, 5], [], [1], [2, 3])


def test_metrics_that_fail_lose_nothing(
    delivery: WaveDelivery, publisher: Waves, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(CountingMetrics):
        def publish_failed(self, *_: object, **__: object) -> None:
            raise RuntimeError("no such label")

    broken = attrs.evolve(delivery, answers=attrs.evolve(delivery.answers, metrics=Broken()))
    publisher.answers[id_of(1)] = EventPublishError(id_of(1), "topic", "not now")

    outcome = broken.deliver_all(two_aggregates(), stopped=never)

    assert rows(outcome) == ([4, 5], [1], [], [2, 3])
    assert [record.levelno for record in caplog.records].count(logging.ERROR) == 1


def test_the_relay_calls_such_an_event_manager_with_many(publisher: Waves) -> None:
    store = InMemoryOutboxStore(SettableClock())
    store.store([a_message(f"m{number}", of=str(number % 2)) for number in range(4)])

    done = OutboxRelay(store=store, publisher=publisher).run_once()

    assert done.sent == 4
    assert publisher.waves == [["m0", "m1"], ["m2", "m3"]]


def test_a_clock_that_cannot_be_read_loses_nothing(
    delivery: WaveDelivery, publisher: Waves
) -> None:
    def breaks() -> float:
        raise OSError("no clock")

    blind = attrs.evolve(delivery, monotonic=breaks)

    assert rows(blind.deliver_all(two_aggregates(), stopped=never)) == (
        [],
        [1, 4],
        [],
        [2, 3, 5],
    )
    assert publisher.waves == []
