"""The contract of messengers, over every implementation."""

from collections.abc import Callable

import pytest

from pragmatic_ddd.ports import AggregateMessageEnvelope
from pragmatic_ddd.testing.broadcast_messenger import BroadcastMessengerContract
from pragmatic_ddd_local import InMemoryBroadcastMessenger


class TestInMemory(BroadcastMessengerContract):
    @pytest.fixture
    def messenger(self) -> InMemoryBroadcastMessenger:
        return InMemoryBroadcastMessenger()

    @pytest.fixture
    def received(
        self, messenger: InMemoryBroadcastMessenger
    ) -> Callable[[str, int], list[AggregateMessageEnvelope]]:
        came: dict[str, list[AggregateMessageEnvelope]] = {"shop-orders": [], "shop-payments": []}
        for topic, envelopes in came.items():
            messenger.subscribe(topic, envelopes.append)
        return lambda topic, _: came[topic]
