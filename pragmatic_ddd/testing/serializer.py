"""Contract of ``IEventSerializer``: subclass it, provide a ``serializer`` fixture, run pytest.

    class TestMine(EventSerializerContract):
        @pytest.fixture
        def serializer(self) -> IEventSerializer: ...

It knows ``CONTRACT_EVENTS`` and, from version 1 of ``ContractSigned``, ``signed_from_version_1``.
"""

import json
from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

import attrs
import pytest

from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd.errors import (
    EventDeserializationError,
    EventSerializationError,
    UnknownEventTypeError,
)
from pragmatic_ddd.ports import IEventSerializer, IEventTypeCatalogue
from pragmatic_ddd.testing.serializer_events import (
    CONTRACT_EVENTS,
    ContractSigned,
    Folder,
    NeverRegistered,
    ValuesRecorded,
    signed_from_version_1,
)
from pragmatic_ddd.testing.serializer_values import REFUSALS, ROUND_TRIPS, shape

__all__ = [
    "CONTRACT_EVENTS",
    "REFUSALS",
    "ROUND_TRIPS",
    "Alteration",
    "ContractSigned",
    "EventSerializerContract",
    "Folder",
    "NeverRegistered",
    "ValuesRecorded",
    "shape",
    "signed_from_version_1",
]

Alteration = Callable[[dict[str, Any]], object]


class EventSerializerContract:
    """What every serializer promises: values come back equal and of their type, or are refused.

    Attributes:
        keeps_field_paths: Whether errors name the field with its whole path.
    """

    keeps_field_paths: ClassVar[bool] = True

    @pytest.mark.parametrize(("field", "value"), ROUND_TRIPS)
    def test_a_value_comes_back_equal_and_of_its_type(
        self, serializer: IEventSerializer, field: str, value: object
    ) -> None:
        event = self._event(field, value)

        payload = serializer.serialize(event)

        read = self._read(serializer, payload)
        assert read == event
        assert shape(getattr(read, field)) == shape(value)

    @pytest.mark.parametrize(("field", "value"), ROUND_TRIPS)
    def test_the_payload_is_strict_json_without_nul(
        self, serializer: IEventSerializer, field: str, value: object
    ) -> None:
        payload = serializer.serialize(self._event(field, value))

        assert b"\0" not in payload
        assert isinstance(json.loads(payload, parse_constant=_refuse_constant), dict)

    @pytest.mark.parametrize(("field", "value", "path"), REFUSALS)
    def test_a_value_that_would_not_come_back_is_refused(
        self, serializer: IEventSerializer, field: str, value: object, path: str
    ) -> None:
        event = self._event(field, value)

        with pytest.raises(EventSerializationError) as refusal:
            serializer.serialize(event)

        assert refusal.value.event_type == "contract.values.recorded"
        if self.keeps_field_paths:
            assert refusal.value.field.startswith(path)

    def test_what_every_event_carries_comes_back(self, serializer: IEventSerializer) -> None:
        event = ContractSigned(aggregate_id="c-1", signer="Ada", operation_code="sign", pages=3)

        placed = event.placed_at(7, 2)

        assert self._read(serializer, serializer.serialize(placed), "contract.signed", 2) == placed

    def test_equal_events_have_equal_payloads(self, serializer: IEventSerializer) -> None:
        numbers = range(1, 100)
        event = self._event("uuids", frozenset(UUID(int=number) for number in numbers))
        other = frozenset(UUID(int=number) for number in reversed(numbers))
        same = attrs.evolve(event, uuids=other)  # type: ignore[misc]  # its base made it attrs

        assert serializer.serialize(event) == serializer.serialize(same)

    def test_an_event_can_be_written_without_being_registered(
        self, serializer: IEventSerializer
    ) -> None:
        payload = serializer.serialize(NeverRegistered(aggregate_id="1", text="x"))

        assert json.loads(payload)["text"] == "x"
        with pytest.raises(UnknownEventTypeError) as unknown:
            self._read(serializer, payload, "contract.never_registered")
        assert unknown.value.event_type == "contract.never_registered"

    def test_it_knows_what_it_can_read_if_it_can_tell(self, serializer: IEventSerializer) -> None:
        if not isinstance(serializer, IEventTypeCatalogue):
            pytest.skip("it does not say beforehand what it can read")
        for event_type in (ContractSigned, ValuesRecorded):
            for name in (event_type.event_type, *event_type.event_aliases):
                assert serializer.knows(name)
        assert not serializer.knows(NeverRegistered.event_type)

    def test_a_newer_version_is_not_known_yet(self, serializer: IEventSerializer) -> None:
        payload = serializer.serialize(self._signed())

        with pytest.raises(UnknownEventTypeError) as unknown:
            self._read(serializer, payload, "contract.signed", 3)
        assert unknown.value.event_version == 3

    def test_a_former_name_is_understood(self, serializer: IEventSerializer) -> None:
        event = self._signed()

        assert self._read(serializer, serializer.serialize(event), "contract.accepted", 2) == event

    def test_an_older_version_is_brought_up_to_date(self, serializer: IEventSerializer) -> None:
        event = self._signed()
        older = self._altered(serializer, event, lambda raw: raw.update(by=raw.pop("signer")))

        assert self._read(serializer, older, "contract.signed", 1) == event

    def test_an_older_payload_that_is_not_of_that_version_is_refused(
        self, serializer: IEventSerializer
    ) -> None:
        with pytest.raises(EventDeserializationError):
            self._read(serializer, serializer.serialize(self._signed()), "contract.signed", 1)

    def test_fields_that_are_not_known_are_passed_over(self, serializer: IEventSerializer) -> None:
        event = self._signed()
        newer = self._altered(serializer, event, lambda raw: raw.update(colour="red"))

        assert self._read(serializer, newer, "contract.signed", 2) == event

    def test_a_missing_field_takes_its_default(self, serializer: IEventSerializer) -> None:
        event = self._signed()
        older = self._altered(serializer, event, lambda raw: raw.pop("pages"))

        assert self._read(serializer, older, "contract.signed", 2) == event

    def test_a_missing_field_without_a_default_is_named(self, serializer: IEventSerializer) -> None:
        broken = self._altered(serializer, self._signed(), lambda raw: raw.pop("signer"))

        with pytest.raises(EventDeserializationError) as refusal:
            self._read(serializer, broken, "contract.signed", 2)
        assert refusal.value.field == "signer"

    @pytest.mark.parametrize(
        "payload", [b"", b"{", b"[]", b"null", b'"x"', b"{}", b"\xff\xfe", b'{"aggregate_id": 1}']
    )
    def test_what_is_not_the_event_is_refused(
        self, serializer: IEventSerializer, payload: bytes
    ) -> None:
        with pytest.raises(EventDeserializationError) as refusal:
            self._read(serializer, payload)
        assert refusal.value.event_type == "contract.values.recorded"

    @pytest.mark.parametrize(
        ("field", "raw"),
        [
            ("text", 5),
            ("number", "five"),
            ("number", 1.0),
            ("number", True),
            ("decimal", 1.5),
            ("instant", "2026-01-02T03:04:05"),
            ("instant", "yesterday"),
            ("uuid", "no uuid"),
            ("data", "%%%"),
            ("currency", "usd"),
            ("currency", ["eur"]),
            ("money", []),
            ("money", {"currency": "eur"}),
            ("lines", {}),
            ("lines", "abc"),
            ("pair", [1]),
            ("by_number", {"x": {}}),
            ("payment", {"number": "1"}),
        ],
    )
    def test_a_value_of_the_wrong_shape_is_refused(
        self, serializer: IEventSerializer, field: str, raw: object
    ) -> None:
        event = self._event("truth", True)  # noqa: FBT003  # the value of that field
        broken = self._altered(serializer, event, lambda found: found.update({field: raw}))

        with pytest.raises(EventDeserializationError) as refusal:
            self._read(serializer, broken)
        assert refusal.value.field.startswith(field)

    def _event(self, field: str, value: object) -> ValuesRecorded:
        fields: dict[str, Any] = {field: value}
        return ValuesRecorded(aggregate_id="v-1", **fields)

    def _signed(self) -> ContractSigned:
        return ContractSigned(aggregate_id="c-1", signer="Ada")

    def _read(
        self,
        serializer: IEventSerializer,
        payload: bytes,
        event_type: str = "contract.values.recorded",
        event_version: int = 1,
    ) -> DomainEvent:
        return serializer.deserialize(payload, event_type=event_type, event_version=event_version)

    def _altered(
        self, serializer: IEventSerializer, event: DomainEvent, alter: Alteration
    ) -> bytes:
        raw = json.loads(serializer.serialize(event))
        alter(raw)
        return json.dumps(raw).encode()


def _refuse_constant(name: str) -> object:
    raise AssertionError(f"{name} is not JSON")
