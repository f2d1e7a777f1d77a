from collections.abc import Callable
from typing import Any

import attrs
import pytest

from pragmatic_ddd.application.inbox import Accept, Alert, Fetch, StartAnywhere, Wait, once
from pragmatic_ddd.errors import EventGapError, SubscriptionError, UnplacedEventError
from pragmatic_ddd.ports import EventGap, GapDecision, IGapPolicy
from pragmatic_ddd_local import (
    InMemoryEventManager,
    InMemoryInbox,
    InMemoryTransactionOperations,
    InMemoryWatermarkInbox,
)
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from tests.unit.application.inbox.stories import OrderPaid, OrderShipped, brought, history, paid


@attrs.define
class Handler:
    """Remembers what it has handled; its transaction is not looked at here."""

    handled: list[str] = attrs.field(factory=list)
    fails: int = 0

    def __call__(self, event: OrderPaid, work: InMemoryTransactionOperations) -> None:
        assert work.is_active
        if self.fails:
            self.fails -= 1
            raise RuntimeError("no truck")
        self.handled.append(event.event_id)


@pytest.fixture
def handler() -> Handler:
    return Handler()


def _watermark_subscriber(handler: Handler, policy: IGapPolicy) -> Callable[[OrderPaid], None]:
    return once(InMemoryWatermarkInbox(), "ship", handler, on_gap=policy)


def test_a_subscriber_handles_each_event_once(handler: Handler) -> None:
    subscriber = once(InMemoryInbox(), "ship", handler)

    for event in [paid(1), paid(1), paid(2), paid(1)]:
        subscriber(event)

    assert handler.handled == ["1-1.0", "1-2.0"]


def test_what_has_failed_is_handled_when_it_comes_again(handler: Handler) -> None:
    handler.fails = 1
    subscriber = once(InMemoryInbox(), "ship", handler)

    with pytest.raises(RuntimeError, match="no truck"):
        subscriber(paid(1))
    subscriber(paid(1))

    assert handler.handled == ["1-1.0"]


def test_it_is_registered_as_any_other_subscriber(handler: Handler) -> None:
    manager = InMemoryEventManager(OrjsonEventSerializer(EventTypeRegistry(OrderPaid)))
    manager.register_subscriber("ship", OrderPaid, once(InMemoryInbox(), "ship", handler))
    with manager:
        for _ in range(2):
            manager.publish(paid(1))

    assert handler.handled == ["1-1.0"]


def test_a_wait_refuses_what_comes_too_soon(handler: Handler) -> None:
    first, second, third = history(3)
    subscriber = _watermark_subscriber(handler, Wait())
    subscriber(first)

    with pytest.raises(EventGapError) as refusal:
        subscriber(third)
    subscriber(second)
    subscriber(third)

    assert handler.handled == ["1-1.0", "1-2.0", "1-3.0"]
    error = refusal.value
    assert error.retryable
    assert str(error) == (
        "event 1-3.0 (3.0 of test.order '1') came before 2.0: ship has handled up to 1.0"
    )


def test_a_wait_for_the_very_first_event_says_that_nothing_was_handled(handler: Handler) -> None:
    with pytest.raises(EventGapError, match=r"came before 1\.0: ship has handled nothing of it"):
        _watermark_subscriber(handler, Wait())(history(2)[1])


def test_waiting_is_the_default(handler: Handler) -> None:
    with pytest.raises(EventGapError):
        once(InMemoryWatermarkInbox(), "ship", handler)(history(2)[1])


def test_who_accepts_gaps_drops_what_comes_too_late(handler: Handler) -> None:
    first, second, third = history(3)
    subscriber = _watermark_subscriber(handler, Accept())

    for event in [first, third, second, third]:
        subscriber(event)

    assert handler.handled == ["1-1.0", "1-3.0"]


def test_an_alert_tells_of_the_gap_and_goes_on(handler: Handler) -> None:
    told: list[EventGap] = []
    first, _, third = history(3)
    subscriber = _watermark_subscriber(handler, Alert(told.append))

    for event in [first, third, third]:
        subscriber(event)

    assert handler.handled == ["1-1.0", "1-3.0"]
    assert [(str(one.last), str(one.arrival.previous)) for one in told] == [("1.0", "2.0")]


def test_an_alert_that_fails_has_the_event_come_again(handler: Handler) -> None:
    def fail(_: EventGap) -> None:
        raise OSError("no pager")

    subscriber = _watermark_subscriber(handler, Alert(fail))

    with pytest.raises(OSError, match="no pager"):
        subscriber(history(2)[1])
    assert handler.handled == []


def test_missing_events_are_fetched_and_handled_before(handler: Handler) -> None:
    asked: list[EventGap] = []
    past = history(4)

    def bring(gap: EventGap) -> list[OrderPaid]:
        asked.append(gap)
        return [past[2], past[1], past[0]]

    subscriber = _watermark_subscriber(handler, Fetch(bring))
    subscriber(past[0])
    subscriber(past[3])

    assert handler.handled == ["1-1.0", "1-2.0", "1-3.0", "1-4.0"]
    assert len(asked) == 1


def test_what_is_fetched_needs_no_message(handler: Handler) -> None:
    subscriber = _watermark_subscriber(handler, Fetch(lambda _: [paid(1), paid(2)]))

    subscriber(history(3)[2])

    assert handler.handled == ["1-1.0", "1-2.0", "1-3.0"]


def test_the_end_of_an_aggregate_is_fetched_for_the_new_one_with_its_id(handler: Handler) -> None:
    """Else the new one would be taken to be behind it, and all its first events dropped."""
    old = history(5)
    subscriber = _watermark_subscriber(handler, Fetch(lambda _: [paid(5), paid(4)]))
    for event in old[:3]:
        subscriber(event)
    new = [
        brought(paid(1, event_id="new-1"), previous="5.0", epoch="1"),
        brought(paid(2, event_id="new-2"), previous="1.0", epoch="1"),
    ]

    for event in new:
        subscriber(event)

    assert handler.handled[3:] == ["1-4.0", "1-5.0", "new-1", "new-2"]


def test_what_is_fetched_over_two_epochs_is_handled_in_order(handler: Handler) -> None:
    old = history(2)
    new = [
        brought(paid(1, event_id="new-1"), previous="2.0", epoch="1"),
        brought(paid(2, event_id="new-2"), previous="1.0", epoch="1"),
    ]
    subscriber = _watermark_subscriber(handler, Fetch(lambda _: [new[0], old[1], old[0]]))

    subscriber(new[1])

    assert handler.handled == ["1-1.0", "1-2.0", "new-1", "new-2"]


def test_the_event_that_has_come_may_be_among_those_that_are_fetched(handler: Handler) -> None:
    past = history(3)
    subscriber = _watermark_subscriber(handler, Fetch(lambda _: [paid(1), paid(2), paid(3)]))

    subscriber(past[2])
    subscriber(past[2])

    assert handler.handled == ["1-1.0", "1-2.0", "1-3.0"]


def test_a_fetched_event_of_another_aggregate_is_refused(handler: Handler) -> None:
    """It would be taken for the first one of its aggregate, and those before it be lost."""
    brings: list[OrderPaid] = [paid(7, of="2")]
    subscriber = _watermark_subscriber(handler, Fetch(lambda _: brings))

    with pytest.raises(ValueError, match=r"2-7\.0 of test.order '2' was brought for a gap"):
        subscriber(history(3)[2])
    brings[:] = [brought(paid(1), previous="0.0", aggregate_type="test.parcel")]
    with pytest.raises(ValueError, match=r"of test.parcel '1' was brought"):
        subscriber(history(3)[2])

    assert handler.handled == []


def test_what_could_not_be_fetched_is_waited_for(handler: Handler) -> None:
    subscriber = _watermark_subscriber(handler, Fetch(lambda _: [paid(1)]))

    with pytest.raises(EventGapError, match=r"came before 2\.0: ship has handled up to 1\.0"):
        subscriber(history(3)[2])
    assert handler.handled == ["1-1.0"]


def test_a_fetch_that_brings_nothing_waits(handler: Handler) -> None:
    with pytest.raises(EventGapError):
        _watermark_subscriber(handler, Fetch(lambda _: []))(history(3)[2])


def test_a_fetched_event_that_fails_fails_the_delivery(handler: Handler) -> None:
    handler.fails = 1
    past = history(3)
    subscriber = _watermark_subscriber(handler, Fetch(lambda _: past[:2]))

    with pytest.raises(RuntimeError, match="no truck"):
        subscriber(past[2])
    subscriber(past[2])

    assert handler.handled == ["1-1.0", "1-2.0", "1-3.0"]


def test_a_gap_among_what_was_fetched_is_one(handler: Handler) -> None:
    past = history(4)
    subscriber = _watermark_subscriber(handler, Fetch(lambda _: [past[0], past[2]]))

    with pytest.raises(EventGapError, match=r"event 1-3\.0"):
        subscriber(past[3])


def test_a_start_anywhere_accepts_the_first_sight_and_nothing_else(handler: Handler) -> None:
    past = history(5)
    subscriber = _watermark_subscriber(handler, StartAnywhere())

    subscriber(past[1])
    with pytest.raises(EventGapError):
        subscriber(past[3])
    subscriber(past[2])
    subscriber(past[3])
    subscriber(past[0])

    assert handler.handled == ["1-2.0", "1-3.0", "1-4.0"]


def test_a_start_anywhere_leaves_the_rest_to_another_policy(handler: Handler) -> None:
    past = history(5)
    subscriber = _watermark_subscriber(handler, StartAnywhere(otherwise=Accept()))

    for event in [past[1], past[4]]:
        subscriber(event)

    assert handler.handled == ["1-2.0", "1-5.0"]


def test_a_policy_of_ones_own_is_asked(handler: Handler) -> None:
    class Impatient:
        def decide(self, gap: EventGap) -> GapDecision:
            return GapDecision(missing=[paid(1)], go_on=True)

    _watermark_subscriber(handler, Impatient())(history(4)[3])

    assert handler.handled == ["1-1.0", "1-4.0"]


def test_an_event_that_no_message_has_brought_is_refused_by_a_watermark(handler: Handler) -> None:
    with pytest.raises(UnplacedEventError, match=r"event 1-1\.0 for ship has no place .* message"):
        _watermark_subscriber(handler, Wait())(paid(1))


def test_an_order_of_two_classes_of_events_is_one(handler: Handler) -> None:
    inbox = InMemoryWatermarkInbox()
    shipped: list[OrderShipped] = []
    pay = once(inbox, "ship", handler)

    def note(event: OrderShipped, _: object) -> None:
        shipped.append(event)

    ship = once(inbox, "ship", note)
    first = history(1)[0]
    second: Any = brought(paid(2), previous="1.0")

    with pytest.raises(EventGapError):
        ship(second)
    pay(first)
    ship(second)

    assert len(shipped) == 1


def test_work_that_is_left_to_later_is_refused(handler: Handler) -> None:
    def handle_later(event: OrderPaid, work: object) -> Any:  # noqa: ANN401  # the point
        yield event

    subscriber = once(InMemoryInbox(), "ship", handle_later)

    with pytest.raises(TypeError, match="generator"):
        subscriber(paid(1))
    with pytest.raises(TypeError, match="generator"):  # it was not marked
        subscriber(paid(1))


def test_a_coroutine_function_is_refused_at_once() -> None:
    async def handle(event: OrderPaid, work: object) -> None: ...

    with pytest.raises(TypeError, match="handler of 'ship'"):
        once(InMemoryInbox(), "ship", handle)


def test_a_blank_name_is_refused(handler: Handler) -> None:
    with pytest.raises(ValueError, match="subscriber"):
        once(InMemoryInbox(), " ", handler)


@pytest.mark.parametrize(
    "wrong", [{"inbox": object()}, {"handler": 1}, {"subscriber": 5}, {"on_gap": Wait}]
)
def test_a_wrong_part_is_named(handler: Handler, wrong: dict[str, Any]) -> None:
    parts = {"inbox": InMemoryInbox(), "subscriber": "ship", "handler": handler}
    given: dict[str, Any] = parts | wrong

    with pytest.raises(TypeError, match=next(iter(wrong))):
        once(**given)


def test_subscribers_of_one_name_are_the_event_managers_business(handler: Handler) -> None:
    manager = InMemoryEventManager(OrjsonEventSerializer(EventTypeRegistry(OrderPaid)))
    subscriber = once(InMemoryInbox(), "ship", handler)
    manager.register_subscriber("ship", OrderPaid, subscriber)

    with pytest.raises(SubscriptionError):
        manager.register_subscriber("ship", OrderPaid, subscriber)
