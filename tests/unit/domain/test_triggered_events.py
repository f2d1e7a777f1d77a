import pytest

from pragmatic_ddd.domain import DomainEvent, TriggeredEvents


class OrderPaid(DomainEvent, name="shop.order.paid"):
    pass


class OrderShipped(DomainEvent, name="shop.order.shipped"):
    pass


def paid() -> OrderPaid:
    return OrderPaid(aggregate_id="1")


def shipped() -> OrderShipped:
    return OrderShipped(aggregate_id="1")


def test_a_snapshot_shows_the_ready_events_and_removes_none() -> None:
    events = TriggeredEvents()
    first = paid()
    events.add(first)
    events.add_later(shipped)

    assert events.snapshot() == (first,)
    assert len(events) == 2


def test_deferred_events_keep_their_place() -> None:
    events = TriggeredEvents()
    first, last = paid(), paid()
    events.add(first)
    events.add_later(shipped)
    events.add(last)

    drained = events.drain()

    assert [drained[0], drained[2]] == [first, last]
    assert isinstance(drained[1], OrderShipped)
    assert len(events) == 0


def test_a_factory_that_fails_loses_nothing() -> None:
    events = TriggeredEvents()
    ids: list[str] = []

    def build() -> DomainEvent:
        if not ids:
            raise LookupError("no id yet")
        return OrderShipped(aggregate_id=ids[0])

    events.add(paid())
    events.add_later(build)

    with pytest.raises(LookupError):
        events.drain()
    ids.append("1")
    assert len(events.drain()) == 2


def test_ready_events_of_a_class_can_be_removed() -> None:
    events = TriggeredEvents()
    events.add(paid())
    kept = shipped()
    events.add(kept)
    events.add_later(paid)

    assert events.remove(OrderPaid) == 1
    assert events.snapshot() == (kept,)
    assert len(events) == 2


def test_what_was_raised_after_a_mark_can_be_taken_back() -> None:
    events = TriggeredEvents()
    first = paid()
    events.add(first)
    mark = events.mark()
    events.add(shipped())

    events.cut_back(1)
    assert events.snapshot() == (first,)

    events.drain()
    events.reset(mark)
    assert events.snapshot() == (first,)
