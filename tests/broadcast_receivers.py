"""Another system, for the contract of messengers: it reads what comes to topics, by envelope."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from pragmatic_ddd.application.broadcast import IntegrationEvent, envelope_of
from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.events import ConfigurableTopicResolver
from pragmatic_ddd.ports import AggregateMessageEnvelope, IEventManager, ITopicResolver
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer

Received = Callable[[str, int], list[AggregateMessageEnvelope]]
ManagerAt = Callable[[ITopicResolver, OrjsonEventSerializer], IEventManager]

_PATIENCE_SECONDS = 60.0
_GLANCE_SECONDS = 0.02


class TheirOrderPaid(IntegrationEvent, name="shop.order-paid", version=2):
    """What ``an_envelope`` of the contract holds, in a class that the sender does not have."""

    total: str
    note: str


def serializer() -> OrjsonEventSerializer:
    registry = EventTypeRegistry(TheirOrderPaid)
    registry.register_upcaster(TheirOrderPaid, 1, lambda payload: payload)
    return OrjsonEventSerializer(registry)


def topic_resolver(topic: str) -> ConfigurableTopicResolver:
    return ConfigurableTopicResolver(MappingConfigurationSource({"event.topic.default": topic}))


@contextmanager
def receivers(topics: Sequence[str], manager_at: ManagerAt) -> Iterator[Received]:
    """Consume from topics, each with an event manager that the caller makes, in its own group."""
    came: dict[str, list[AggregateMessageEnvelope]] = {topic: [] for topic in topics}

    def received(topic: str, count: int) -> list[AggregateMessageEnvelope]:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(came[topic]) < count:
            assert time.monotonic() < deadline, f"{len(came[topic])} of {count} came to {topic}"
            time.sleep(_GLANCE_SECONDS)
        return list(came[topic])

    with ExitStack() as running:
        for topic, envelopes in came.items():
            manager = manager_at(topic_resolver(topic), serializer())
            manager.register_subscriber("keep", TheirOrderPaid, _kept_in(envelopes))
            running.enter_context(manager)
        yield received


def _kept_in(envelopes: list[AggregateMessageEnvelope]) -> Callable[[TheirOrderPaid], None]:
    return lambda event: envelopes.append(envelope_of(event))
