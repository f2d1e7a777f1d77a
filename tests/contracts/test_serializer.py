"""The serializer contract, over every serializer."""

import pytest

from pragmatic_ddd.ports import IEventSerializer
from pragmatic_ddd.testing.serializer import (
    CONTRACT_EVENTS,
    ContractSigned,
    EventSerializerContract,
    signed_from_version_1,
)
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer


class TestOrjson(EventSerializerContract):
    @pytest.fixture(scope="class")
    def serializer(self) -> IEventSerializer:
        registry = EventTypeRegistry()
        registry.register(*CONTRACT_EVENTS)
        registry.register_upcaster(ContractSigned, 1, signed_from_version_1)
        return OrjsonEventSerializer(registry)
