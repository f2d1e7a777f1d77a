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


@pytest.fixture(scope="module")
def orjson_serializer() -> OrjsonEventSerializer:
    """One for all tests: the converter of a large event takes a moment to make."""
    registry = EventTypeRegistry(*CONTRACT_EVENTS)
    registry.register_upcaster(ContractSigned, 1, signed_from_version_1)
    return OrjsonEventSerializer(registry)


class TestOrjson(EventSerializerContract):
    @pytest.fixture
    def serializer(self, orjson_serializer: OrjsonEventSerializer) -> IEventSerializer:
        return orjson_serializer
