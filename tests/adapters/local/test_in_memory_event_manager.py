import pytest

from pragmatic_ddd.errors import EventPublishError
from pragmatic_ddd.ports import Delivery, PublishPath
from pragmatic_ddd_local import CountingMetrics, InMemoryEventManager
from tests.adapters.local.shop import OrderPaid, a_payment, a_serializer, a_stored, failing


def test_it_lists_what_was_published() -> None:
    first, second, third = (a_payment(number) for number in range(3))
    with InMemoryEventManager(a_serializer()) as manager:
        manager.publish(first)
        manager.publish_stored(a_stored(second))
        manager.publish_all([third])

        assert manager.published == [first, second, third]


def test_what_failed_is_not_listed() -> None:
    manager = InMemoryEventManager(a_serializer())
    manager.register_subscriber("stock", OrderPaid, failing(2, LookupError("away"), list))
    event = a_payment()

    with manager:
        with pytest.raises(EventPublishError):
            manager.publish(event)
        with pytest.raises(EventPublishError):
            manager.publish_stored(a_stored(event))
        assert manager.published == []

        manager.publish_stored(a_stored(event))
        assert manager.published == [event]


def test_everybody_is_called_before_it_returns() -> None:
    manager = InMemoryEventManager(a_serializer())
    called: list[str] = []
    manager.register_subscriber(
        "later", OrderPaid, lambda _: called.append("later"), delivery=Delivery.DELAYED
    )
    manager.register_subscriber(
        "after", OrderPaid, lambda _: called.append("after"), depends_on=["later"]
    )

    with manager:
        receipt = manager.publish(a_payment())

    assert called == ["later", "after"]
    assert receipt.text == "in-process: later: succeeded; after: succeeded"


def test_a_failed_successor_fails_the_publishing_too() -> None:
    manager = InMemoryEventManager(a_serializer())
    manager.register_subscriber("stock", OrderPaid, lambda _: None)
    manager.register_subscriber(
        "log", OrderPaid, failing(1, LookupError("away"), list), depends_on=["stock"]
    )

    with manager, pytest.raises(EventPublishError, match="log: failed, LookupError: away"):
        manager.publish_stored(a_stored(a_payment()))


def test_several_failures_are_all_named() -> None:
    manager = InMemoryEventManager(a_serializer())
    manager.register_subscriber("mail", OrderPaid, failing(1, LookupError("away"), list))
    manager.register_subscriber("stock", OrderPaid, failing(1, ValueError("empty"), list))

    with (
        manager,
        pytest.raises(EventPublishError, match=r"mail: .*away; stock: .*empty") as refusal,
    ):
        manager.publish(a_payment())

    assert isinstance(refusal.value.__cause__, ExceptionGroup)


def test_publishing_without_an_outbox_is_counted() -> None:
    metrics = CountingMetrics()
    manager = InMemoryEventManager(a_serializer(), metrics=metrics)
    manager.register_subscriber("stock", OrderPaid, failing(1, LookupError(), list))

    with manager:
        with pytest.raises(EventPublishError):
            manager.publish(a_payment())
        manager.publish(a_payment())
        manager.publish_stored(a_stored(a_payment()))

    assert metrics.count("published", path=PublishPath.DIRECT) == 1
    assert metrics.count("publish_failed", path=PublishPath.DIRECT, counted=False) == 1
    assert metrics.count("consumed", subscriber="stock") == 2


def test_a_long_receipt_is_cut() -> None:
    manager = InMemoryEventManager(a_serializer())
    for number in range(100):
        manager.register_subscriber(f"subscriber-{number}", OrderPaid, lambda _: None)

    with manager:
        assert len(manager.publish(a_payment()).text) == 500
