import logging
import sys
import threading
from collections import deque
from collections.abc import Callable

import pytest

from pragmatic_ddd.application.outbox import BrokerHealth
from pragmatic_ddd.application.outbox import delivery as delivery_module
from pragmatic_ddd.application.outbox.answers import Answers
from pragmatic_ddd.application.outbox.delivery import LaneDelivery, lanes
from pragmatic_ddd.application.outbox.retry import Backoff
from pragmatic_ddd.application.outbox.settlement import Settlement
from pragmatic_ddd.errors import UnknownEventTypeError
from pragmatic_ddd.ports import ClaimedMessage, OutboxMessage, PublishPath, Receipt
from pragmatic_ddd.testing.faults import (
    ScriptedPublisher,
    Step,
    fails,
    goes_unconfirmed,
    raises,
    rejects,
    returns,
    unavailable,
    waits_for,
)
from pragmatic_ddd_local import CountingMetrics
from tests.unit.application.outbox.builders import (
    DEADLINE,
    a_claim,
    a_person,
    eventually,
    seconds,
)


@pytest.fixture
def publisher() -> ScriptedPublisher:
    return ScriptedPublisher(longest_call=seconds(3))


@pytest.fixture
def metrics() -> CountingMetrics:
    return CountingMetrics()


@pytest.fixture
def delivery(publisher: ScriptedPublisher, metrics: CountingMetrics) -> LaneDelivery:
    return LaneDelivery(
        publisher=publisher,
        answers=Answers(
            health=BrokerHealth(),
            backoff=Backoff(base=seconds(1), cap=seconds(60)),
            max_attempts=10,
            metrics=metrics,
            path=PublishPath.RELAY,
        ),
        monotonic=lambda: 100.0,
    )


def never() -> bool:
    return False


def rows(claims: list[ClaimedMessage]) -> list[int]:
    return [one.id for one in claims]


def sent(outcome: Settlement) -> list[int]:
    return [one.claimed.id for one in outcome.sent]


def test_messages_are_grouped_by_aggregate_in_their_order() -> None:
    claims = [a_claim(1, of="a"), a_claim(2, of="b"), a_claim(3, of="a"), a_claim(4, of="b")]

    assert [rows(lane) for lane in lanes(claims)] == [[1, 3], [2, 4]]


def test_a_lane_is_sent_in_order_with_its_receipts(
    delivery: LaneDelivery, publisher: ScriptedPublisher
) -> None:
    outcome = delivery.deliver([a_claim(row) for row in (1, 2, 3)], stopped=never)

    assert publisher.delivered_ids() == ["m1", "m2", "m3"]
    assert sent(outcome) == [1, 2, 3]
    assert outcome.sent[0].receipt == "scripted: m1"
    assert len(outcome) == 3


def test_the_first_failure_stops_the_lane_and_the_rest_is_untried(
    delivery: LaneDelivery, publisher: ScriptedPublisher
) -> None:
    publisher.on("m2", fails("no disk"))

    outcome = delivery.deliver([a_claim(row) for row in (1, 2, 3, 4)], stopped=never)

    assert sent(outcome) == [1]
    assert [one.claimed.id for one in outcome.failed] == [2]
    assert rows(outcome.untried) == [3, 4]
    assert [message.message_id for message in publisher.tried] == ["m1", "m2"]


def test_a_failure_carries_its_error_and_a_wait_that_grows(
    delivery: LaneDelivery, publisher: ScriptedPublisher, metrics: CountingMetrics
) -> None:
    publisher.next(fails("no disk"))

    outcome = delivery.deliver([a_claim(1, failures=3, attempts=3)], stopped=never)

    (failed,) = outcome.failed
    assert failed.counted
    assert failed.error.startswith("EventPublishError: broker did not confirm event m1")
    assert "no disk" in failed.error
    assert seconds(4) <= failed.retry_in <= seconds(8)
    assert metrics.count("publish_failed", path=PublishPath.RELAY, counted=True) == 1


def test_an_outage_is_not_counted(
    delivery: LaneDelivery, publisher: ScriptedPublisher, metrics: CountingMetrics
) -> None:
    publisher.next(unavailable())

    outcome = delivery.deliver([a_claim(1, attempts=9)], stopped=never)

    assert not outcome.failed[0].counted
    assert metrics.count("publish_failed", counted=False) == 1


def test_what_is_out_of_its_lease_is_not_sent(
    delivery: LaneDelivery, publisher: ScriptedPublisher
) -> None:
    almost_over = 100.0 + 3.0  # a send that takes the longest call would end with the lease

    outcome = delivery.deliver([a_claim(1, deadline=almost_over), a_claim(2)], stopped=never)

    assert publisher.tried == []
    assert rows(outcome.untried) == [1, 2]


def test_what_is_still_in_its_lease_is_sent(
    delivery: LaneDelivery, publisher: ScriptedPublisher
) -> None:
    outcome = delivery.deliver([a_claim(1, deadline=103.001)], stopped=never)

    assert sent(outcome) == [1]


def test_nothing_more_is_sent_once_it_is_told_to_stop(delivery: LaneDelivery) -> None:
    answers = iter([False, False, True])

    outcome = delivery.deliver([a_claim(row) for row in (1, 2, 3)], stopped=lambda: next(answers))

    assert sent(outcome) == [1, 2]
    assert rows(outcome.untried) == [3]


@pytest.mark.parametrize("value", [None, True, "receipt", object()])
def test_what_is_no_receipt_is_no_confirmation(
    delivery: LaneDelivery, publisher: ScriptedPublisher, value: object
) -> None:
    publisher.next(returns(value))

    outcome = delivery.deliver([a_claim(1)], stopped=never)

    assert not outcome.sent
    assert "instead of a receipt" in outcome.failed[0].error
    assert outcome.failed[0].counted


def test_a_final_error_is_dead_at_once(
    delivery: LaneDelivery, publisher: ScriptedPublisher
) -> None:
    publisher.next(rejects("too large"))

    outcome = delivery.deliver([a_claim(1), a_claim(2)], stopped=never)

    assert [one.claimed.id for one in outcome.dead] == [1]
    assert outcome.dead[0].counted
    assert rows(outcome.untried) == [2]


def test_an_unknown_event_type_is_tried_again(
    delivery: LaneDelivery, publisher: ScriptedPublisher
) -> None:
    publisher.next(raises(UnknownEventTypeError("shop.order.new", 2)))

    outcome = delivery.deliver([a_claim(1)], stopped=never)

    assert len(outcome.failed) == 1


@pytest.mark.parametrize(("attempts", "is_dead"), [(8, False), (9, True), (10, True)])
def test_the_tenth_try_of_ten_is_the_last(
    delivery: LaneDelivery, publisher: ScriptedPublisher, attempts: int, is_dead: bool
) -> None:
    publisher.next(fails())

    outcome = delivery.deliver([a_claim(1, attempts=attempts)], stopped=never)

    assert len(publisher.tried) == 1
    assert bool(outcome.dead) is is_dead
    assert bool(outcome.failed) is not is_dead


def test_a_taken_over_row_at_the_limit_is_buried_unsent(
    delivery: LaneDelivery, publisher: ScriptedPublisher
) -> None:
    lane = [a_claim(1, attempts=10, taken_over=True), a_claim(2)]

    outcome = delivery.deliver(lane, stopped=never)

    assert publisher.tried == []
    (dead,) = outcome.dead
    assert not dead.counted, "the lapsed lease was counted when it was taken over"
    assert "its lease ran out in 10 attempts" in dead.error
    assert rows(outcome.untried) == [2]


def test_a_taken_over_row_below_the_limit_is_sent(delivery: LaneDelivery) -> None:
    outcome = delivery.deliver([a_claim(1, attempts=9, taken_over=True)], stopped=never)

    assert sent(outcome) == [1]


def test_a_row_at_the_limit_that_nobody_lost_is_sent(delivery: LaneDelivery) -> None:
    """The limit may have been lowered since; it has its own try coming."""
    outcome = delivery.deliver([a_claim(1, attempts=10)], stopped=never)

    assert sent(outcome) == [1]


def exits(_: OutboxMessage, __: Callable[[], Receipt]) -> Receipt:
    sys.exit("a subscriber wants to leave")


@pytest.mark.parametrize("step", [raises(ZeroDivisionError("a bug")), exits])
def test_code_that_breaks_the_contract_fails_its_own_message_only(
    delivery: LaneDelivery,
    publisher: ScriptedPublisher,
    caplog: pytest.LogCaptureFixture,
    step: Step,
) -> None:
    publisher.on("m1", step)

    outcome = delivery.deliver_all([a_claim(1, of="a"), a_claim(2, of="b")], stopped=never)

    assert [one.claimed.id for one in outcome.failed] == [1]
    assert sent(outcome) == [2]
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info, "with its traceback"


def test_a_failure_that_does_not_count_is_logged_too_unless_it_is_an_outage(
    delivery: LaneDelivery, publisher: ScriptedPublisher, caplog: pytest.LogCaptureFixture
) -> None:
    publisher.on("m1", goes_unconfirmed())

    delivery.deliver([a_claim(1)], stopped=never)

    (record,) = caplog.records
    assert "m1" in record.getMessage()
    assert "failed (not counted), 0 of 10 attempts are used up" in record.getMessage()
    caplog.clear()
    with publisher.always(unavailable()):
        for number in range(2, 5):
            delivery.deliver([a_claim(number)], stopped=never)
    (record,) = caplog.records
    assert (
        "cannot send, messages wait in the outbox: broker is not available" in record.getMessage()
    )


def interrupts(_: OutboxMessage, __: Callable[[], Receipt]) -> Receipt:
    raise KeyboardInterrupt


def test_ctrl_c_stops_every_aggregate_and_is_noted_beside_what_was_sent(
    delivery: LaneDelivery, publisher: ScriptedPublisher
) -> None:
    publisher.on("m2", interrupts)
    claims = [a_claim(1, of="a"), a_claim(2, of="a"), a_claim(3, of="a"), a_claim(4, of="b")]

    outcome = delivery.deliver_all(claims, stopped=never)

    assert isinstance(outcome.interrupt, KeyboardInterrupt)
    assert sent(outcome) == [1]
    assert rows(outcome.untried) == [2, 3, 4]
    assert len(outcome) == 4


def test_ctrl_c_waits_for_the_send_in_another_thread(
    delivery: LaneDelivery, publisher: ScriptedPublisher
) -> None:
    publisher.side_by_side = 2
    both_send = threading.Barrier(2)
    is_interrupted = threading.Event()

    def step(message: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        both_send.wait(DEADLINE.total_seconds())
        if threading.current_thread() is threading.main_thread():
            is_interrupted.set()
            raise KeyboardInterrupt
        assert is_interrupted.wait(DEADLINE.total_seconds())
        return confirm()

    with publisher.always(step):
        outcome = delivery.deliver_all([a_claim(1, of="a"), a_claim(2, of="b")], stopped=never)

    assert outcome.interrupt is not None
    assert (len(outcome.sent), len(outcome.untried)) == (1, 1)


def test_ctrl_c_while_it_waits_for_another_thread_has_it_wait_again(
    delivery: LaneDelivery, publisher: ScriptedPublisher
) -> None:
    publisher.side_by_side = 2
    both_send = threading.Barrier(2)

    def step(message: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        both_send.wait(DEADLINE.total_seconds())
        if threading.current_thread() is not threading.main_thread():
            person.presses()
            person.sees_main_wait()
        return confirm()

    with a_person() as person, publisher.always(step):
        outcome = delivery.deliver_all([a_claim(1, of="a"), a_claim(2, of="b")], stopped=never)

    assert outcome.interrupt is not None
    assert (len(outcome.sent), len(outcome.untried)) == (2, 0)


def test_aggregates_are_sent_side_by_side_as_the_publisher_says(
    delivery: LaneDelivery, publisher: ScriptedPublisher
) -> None:
    publisher.side_by_side = 3
    together = threading.Barrier(3)

    def meets(_: OutboxMessage, confirm: Callable[[], Receipt]) -> Receipt:
        together.wait(DEADLINE.total_seconds())
        return confirm()

    with publisher.always(meets):
        outcome = delivery.deliver_all(
            [a_claim(row, of=str(row)) for row in range(6)], stopped=never
        )

    assert sorted(sent(outcome)) == list(range(6))


def test_no_more_are_sent_side_by_side_than_the_publisher_says(
    delivery: LaneDelivery, publisher: ScriptedPublisher
) -> None:
    publisher.side_by_side = 2
    gate = threading.Event()
    results: list[Settlement] = []

    def run() -> None:
        claims = [a_claim(row, of=str(row)) for row in range(5)]
        results.append(delivery.deliver_all(claims, stopped=never))

    with publisher.always(waits_for(gate)):
        thread = threading.Thread(target=run)
        thread.start()
        eventually(lambda: len(publisher.tried) == 2)
        assert len(publisher.tried) == 2
        gate.set()
        thread.join(DEADLINE.total_seconds())

    assert len(results[0].sent) == 5


def test_metrics_that_break_their_contract_lose_no_message(
    delivery: LaneDelivery, publisher: ScriptedPublisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: CountingMetrics, event_type: str, path: object, *, counted: bool) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(CountingMetrics, "publish_failed", broken)
    publisher.on("m2", fails())

    outcome = delivery.deliver_all(
        [a_claim(1, of="a"), a_claim(2, of="a"), a_claim(3, of="b")], stopped=never
    )

    assert sent(outcome) == [1, 3]
    assert [one.claimed.id for one in outcome.failed] == [2], "not sent again and again"


def test_it_goes_on_with_fewer_threads_where_no_more_can_be_started(
    delivery: LaneDelivery,
    publisher: ScriptedPublisher,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    publisher.side_by_side = 4
    monkeypatch.setattr(threading.Thread, "start", refuse)

    outcome = delivery.deliver_all([a_claim(row, of=str(row)) for row in range(5)], stopped=never)

    assert len(outcome.sent) == 5
    assert "no more can be started" in caplog.text


class UnspeakableError(Exception):
    """Cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_error_without_a_text_counts_like_any_other(
    delivery: LaneDelivery, publisher: ScriptedPublisher
) -> None:
    publisher.on("m2", raises(UnspeakableError()))

    outcome = delivery.deliver([a_claim(1), a_claim(2), a_claim(3)], stopped=never)

    assert sent(outcome) == [1]
    assert rows(outcome.untried) == [3]
    (failed,) = outcome.failed
    assert failed.counted
    assert failed.error == "UnspeakableError, whose text raises RuntimeError"


def test_what_breaks_between_two_sends_puts_the_rest_off(delivery: LaneDelivery) -> None:
    answers = iter([False])

    outcome = delivery.deliver([a_claim(1), a_claim(2), a_claim(3)], stopped=lambda: next(answers))

    assert sent(outcome) == [1]
    (failed,) = outcome.failed
    assert failed.claimed.id == 2
    assert not failed.counted
    assert failed.retry_in > seconds(0)
    assert rows(outcome.untried) == [3]


def test_an_interrupt_raised_in_a_thread_does_not_end_it(
    delivery: LaneDelivery, publisher: ScriptedPublisher
) -> None:
    def interrupt(_: OutboxMessage, __: Callable[[], Receipt]) -> Receipt:
        raise KeyboardInterrupt

    publisher.on("m1", interrupt)
    outcomes: list[Settlement] = []
    thread = threading.Thread(
        target=lambda: outcomes.append(delivery.deliver([a_claim(1)], stopped=never))
    )
    thread.start()
    thread.join(DEADLINE.total_seconds())

    assert [one.claimed.id for outcome in outcomes for one in outcome.failed] == [1]


def test_ctrl_c_between_two_aggregates_leaves_none_out(
    delivery: LaneDelivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = delivery_module._next_of
    left = iter([False, True])

    def interrupted(waiting: deque[list[ClaimedMessage]]) -> list[ClaimedMessage] | None:
        if next(left):
            raise KeyboardInterrupt
        return take(waiting)

    monkeypatch.setattr(delivery_module, "_next_of", interrupted)
    claims = [a_claim(row, of=str(row)) for row in (1, 2, 3)]

    outcome = delivery.deliver_all(claims, stopped=never)

    assert outcome.interrupt is not None
    assert sent(outcome) == [1]
    assert rows(outcome.untried) == [2, 3]
