import asyncio
import threading
from collections.abc import Callable

import pytest

from pragmatic_ddd.application.events import Dispatcher, Outcome, SubscriberRegistry
from pragmatic_ddd.application.events.dispatch import cause, summary
from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import SubscriptionError
from pragmatic_ddd_local import CountingMetrics


class OrderPaid(DomainEvent, name="shop.order.paid"):
    total: int = 0


class Desk:
    """A dispatcher whose subscribers note that they were called."""

    def __init__(self) -> None:
        self.metrics = CountingMetrics()
        self.registry = SubscriberRegistry()
        self.dispatcher = Dispatcher(self.registry, self.metrics)
        self.called: list[str] = []

    def add(
        self,
        code: str,
        *depends_on: str,
        fails: Exception | None = None,
        condition: Callable[[OrderPaid], bool] | None = None,
    ) -> None:
        def handle(_: OrderPaid) -> None:
            self.called.append(code)
            if fails is not None:
                raise fails

        self.registry.register_subscriber(
            code, OrderPaid, handle, depends_on=depends_on, condition=condition
        )

    def outcomes(self, total: int = 0) -> dict[str, Outcome]:
        found = self.dispatcher.dispatch(OrderPaid(aggregate_id="1", total=total))
        return {each.subscriber.code: each.outcome for each in found}


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_predecessors_are_called_first(desk: Desk) -> None:
    desk.add("d", "c", "a")
    desk.add("c", "b")
    desk.add("a")
    desk.add("b", "a")

    assert set(desk.outcomes().values()) == {Outcome.SUCCEEDED}
    assert desk.called == ["a", "b", "c", "d"]


def test_a_failure_holds_back_everybody_who_depends_on_it(desk: Desk) -> None:
    desk.add("a", fails=LookupError("gone"))
    desk.add("b", "a")
    desk.add("c", "b", "x")
    desk.add("x")
    desk.add("y", "x")

    assert desk.outcomes() == {
        "a": Outcome.FAILED,
        "b": Outcome.HELD_BACK,
        "c": Outcome.HELD_BACK,
        "x": Outcome.SUCCEEDED,
        "y": Outcome.SUCCEEDED,
    }
    assert desk.called == ["a", "x", "y"]


def test_who_does_not_want_an_event_holds_back_nobody(desk: Desk) -> None:
    desk.add("large", condition=lambda event: event.total > 100)
    desk.add("after", "large")

    assert desk.outcomes(5) == {"large": Outcome.NOT_WANTED, "after": Outcome.SUCCEEDED}
    assert desk.outcomes(500) == {"large": Outcome.SUCCEEDED, "after": Outcome.SUCCEEDED}
    assert desk.called == ["after", "large", "after"]


def test_a_condition_that_raises_is_a_failure(desk: Desk) -> None:
    def broken(_: OrderPaid) -> bool:
        raise ZeroDivisionError

    desk.add("a", condition=broken)

    assert desk.outcomes() == {"a": Outcome.FAILED}
    assert desk.called == []


def test_nobody_is_called_for_an_event_without_subscribers(desk: Desk) -> None:
    assert desk.outcomes() == {}


def test_one_subscriber_and_those_after_it(desk: Desk) -> None:
    desk.add("a")
    desk.add("b")
    desk.add("c", "a", "b")
    event = OrderPaid(aggregate_id="1")

    desk.dispatcher.dispatch(event, subscriber="b")
    assert desk.called == ["b", "c"]

    desk.called.clear()
    desk.dispatcher.dispatch(event, subscriber="b", only_this=True)
    assert desk.called == ["b"]

    with pytest.raises(SubscriptionError):
        desk.dispatcher.dispatch(event, subscriber="nobody")


def test_each_call_is_counted(desk: Desk) -> None:
    desk.add("a", fails=LookupError("gone"))
    desk.add("b", "a")
    desk.add("c")
    desk.add("d", condition=lambda _: False)
    event = OrderPaid(aggregate_id="1")

    desk.dispatcher.dispatch(event)
    desk.dispatcher.dispatch(event, final=False)

    count = desk.metrics.count
    assert count("consumed", subscriber="c") == count("consumed") == 2
    assert count("consume_failed", subscriber="a", final=True) == 1
    assert count("consume_failed", subscriber="a", final=False) == 1
    assert count("consume_failed") == 2


def test_what_nobody_awaits_has_not_succeeded(desk: Desk) -> None:
    async def work() -> None: ...

    def future(_: OrderPaid) -> None:
        return loop.create_future()  # type: ignore[return-value]  # the mistake

    loop = asyncio.new_event_loop()
    handlers: list[Callable[[OrderPaid], None]] = [
        lambda _: work(),  # type: ignore[list-item]  # the mistake
        future,
    ]
    for number, handler in enumerate(handlers):
        desk.registry.register_subscriber(str(number), OrderPaid, handler)

    assert desk.outcomes() == {"0": Outcome.FAILED, "1": Outcome.FAILED}
    loop.close()


def test_an_error_beyond_exception_is_not_held_back(desk: Desk) -> None:
    def stop(_: OrderPaid) -> None:
        raise KeyboardInterrupt

    desk.registry.register_subscriber("a", OrderPaid, stop)

    with pytest.raises(KeyboardInterrupt):
        desk.outcomes()


def test_outcomes_are_summed_up_in_words(desk: Desk) -> None:
    desk.add("a", fails=LookupError("gone"))
    desk.add("b", "a")
    desk.add("c", fails=ValueError("odd"))
    outcomes = desk.dispatcher.dispatch(OrderPaid(aggregate_id="1"))

    assert "a: failed, LookupError: gone" in summary(outcomes)
    assert "b: held back" in summary(outcomes)
    assert summary([]) == "no subscribers"
    group = cause(outcomes)
    assert isinstance(group, ExceptionGroup)
    assert {type(each) for each in group.exceptions} == {LookupError, ValueError}
    assert isinstance(cause(outcomes[:1]), LookupError)
    assert cause([]) is None


def test_a_course_may_be_taken_by_several_threads(desk: Desk) -> None:
    for number in range(200):
        desk.add(f"r{number}")
        desk.add(f"s{number}", f"r{number}", *([f"s{number - 1}"] if number else []))
    event = OrderPaid(aggregate_id="1")
    course = desk.dispatcher.begin(event)

    def go_on() -> None:
        while ready := course.ready():
            for each in ready:
                course.record(desk.dispatcher.call(each, event))

    threads = [threading.Thread(target=go_on) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    go_on()

    assert len(desk.called) == len(set(desk.called)) == 400
    assert len(course.outcomes()) == 400
    assert course.failures() == []
