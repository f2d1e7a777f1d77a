"""Contract of ``IBroadcastMessenger``: subclass it, provide the fixtures, run pytest."""

import datetime as dt
from collections.abc import Callable

import attrs
import pytest

from pragmatic_ddd.domain import uuid7_text
from pragmatic_ddd.ports import AggregateMessageEnvelope, IBroadcastMessenger, Receipt


def an_envelope(aggregate_id: str = "order-1", *, version: int = 1) -> AggregateMessageEnvelope:
    """Return a message that differs from all others by its id."""
    return AggregateMessageEnvelope(
        message_id=uuid7_text(),
        message_type="shop.order-paid",
        message_version=2,
        aggregate_type="shop.order",
        aggregate_id=aggregate_id,
        aggregate_version=version,
        event_index=1,
        occurred_at=dt.datetime(2026, 1, 31, 12, 30, 15, 123456, tzinfo=dt.UTC),
        payload='{"total":"12.50","note":"naïve \N{GRINNING FACE}"}'.encode(),
        headers={"operation-code": "pay", "dataschema": "/schemas/2", "tenant": "42"},
    )


class BroadcastMessengerContract:
    """What every messenger promises. Needs two fixtures.

    ``messenger`` is the messenger; ``received(topic, count)`` waits for that many messages to a
    topic, and returns all that have come there, in order. Where topics outlive a test, a third
    one, ``destinations``, names two that are new.
    """

    @pytest.fixture
    def destinations(self) -> tuple[str, str]:
        """Where messages go."""
        return "shop-orders", "shop-payments"

    def test_a_message_arrives_as_it_was_sent(
        self,
        messenger: IBroadcastMessenger,
        destinations: tuple[str, str],
        received: Callable[[str, int], list[AggregateMessageEnvelope]],
    ) -> None:
        sparse = attrs.evolve(an_envelope("order-2"), aggregate_version=None, headers={})
        sent = [an_envelope(), sparse]
        for envelope in sent:
            assert isinstance(messenger.send(destinations[0], envelope), Receipt)

        arrived = received(destinations[0], 2)  # of two aggregates: in either order
        assert sorted(arrived, key=lambda envelope: envelope.aggregate_id) == sent

    def test_messages_of_one_aggregate_arrive_in_order(
        self,
        messenger: IBroadcastMessenger,
        destinations: tuple[str, str],
        received: Callable[[str, int], list[AggregateMessageEnvelope]],
    ) -> None:
        for version in range(1, 11):
            messenger.send(destinations[0], an_envelope(version=version))

        arrived = received(destinations[0], 10)
        assert [envelope.aggregate_version for envelope in arrived] == list(range(1, 11))

    def test_a_message_goes_to_its_topic_only(
        self,
        messenger: IBroadcastMessenger,
        destinations: tuple[str, str],
        received: Callable[[str, int], list[AggregateMessageEnvelope]],
    ) -> None:
        orders, payments = an_envelope(), an_envelope()

        messenger.send(destinations[0], orders)
        messenger.send(destinations[1], payments)

        assert received(destinations[1], 1) == [payments]
        assert received(destinations[0], 1) == [orders]

    def test_what_is_sent_again_has_the_same_id(
        self,
        messenger: IBroadcastMessenger,
        destinations: tuple[str, str],
        received: Callable[[str, int], list[AggregateMessageEnvelope]],
    ) -> None:
        envelope = an_envelope()
        messenger.send(destinations[0], envelope)
        messenger.send(destinations[0], envelope)

        assert {each.message_id for each in received(destinations[0], 1)} == {envelope.message_id}

    def test_a_topic_has_a_name(self, messenger: IBroadcastMessenger) -> None:
        with pytest.raises(ValueError, match="topic"):
            messenger.send(" ", an_envelope())
