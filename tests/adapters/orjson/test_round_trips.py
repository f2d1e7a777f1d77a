"""Whatever hypothesis makes comes back equal and of its type, or is refused."""

import datetime as dt
import json
import zoneinfo
from contextlib import suppress

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.errors import EventDeserializationError, EventSerializationError
from tests.adapters.orjson.everything import (
    EVENTS,
    FIELDS,
    Everything,
    a_serializer,
    exact,
    plain_json,
    unicode_text,
)

OFTEN = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
SERIALIZER = a_serializer(Everything)


def refuse(constant: str) -> object:
    raise AssertionError(constant)


def read(payload: bytes) -> DomainEvent:
    return SERIALIZER.deserialize(payload, event_type="test.everything", event_version=1)


@given(EVENTS)
@OFTEN
def test_an_event_comes_back_as_it_was(event: Everything) -> None:
    payload = SERIALIZER.serialize(event)
    back = read(payload)

    assert back == event
    assert exact(back) == exact(event)
    assert SERIALIZER.serialize(back) == payload


@given(EVENTS)
@OFTEN
def test_the_payload_is_strict_json(event: Everything) -> None:
    payload = SERIALIZER.serialize(event)

    assert b"\0" not in payload
    raw = json.loads(payload, parse_constant=refuse)
    assert list(raw)[:2] == ["aggregate_id", "event_id"]


@given(EVENTS, st.data())
@OFTEN
def test_a_broken_payload_is_refused_or_still_an_event(
    event: Everything, data: st.DataObject
) -> None:
    raw = json.loads(SERIALIZER.serialize(event))
    name = data.draw(st.sampled_from(sorted(raw)))
    if data.draw(st.booleans()):
        del raw[name]
    else:
        raw[name] = data.draw(plain_json())
    payload = json.dumps(raw).encode()

    with suppress(EventDeserializationError):
        back = read(payload)
        assert read(SERIALIZER.serialize(back)) == back


@given(st.binary(max_size=60) | unicode_text().map(str.encode))
@OFTEN
def test_garbage_is_refused(payload: bytes) -> None:
    with pytest.raises(EventDeserializationError):
        read(payload)


@given(EVENTS, st.data())
@OFTEN
def test_what_is_written_reads_back_whatever_its_type(
    event: Everything, data: st.DataObject
) -> None:
    """A value of a wrong type is refused, or comes back as it was: never as something else."""
    name, other = data.draw(st.tuples(st.sampled_from(FIELDS), st.sampled_from(FIELDS)))
    changed = attrs.evolve(event, **{name: getattr(event, other)})  # type: ignore[misc]  # its base made it attrs

    try:
        payload = SERIALIZER.serialize(changed)
    except EventSerializationError as error:
        found = error.field
        assert found.startswith(name)  # it may also be written
    else:
        assert exact(read(payload)) == exact(changed)


class Moment(DomainEvent, name="test.moment"):
    at: dt.datetime


MOMENTS = a_serializer(Moment)


@given(st.datetimes(timezones=st.timezones()))
@OFTEN
def test_a_moment_in_a_zone_comes_back_as_the_same_instant(at: dt.datetime) -> None:
    event = Moment(aggregate_id="1", at=at)

    back = MOMENTS.deserialize(MOMENTS.serialize(event), event_type="test.moment", event_version=1)

    assert isinstance(back, Moment)
    assert back.at.replace(tzinfo=None) == at.replace(tzinfo=None)
    assert back.at.utcoffset() == at.utcoffset()


def test_python_finds_no_moment_of_another_zone_equal_to_one_that_its_clocks_show_twice() -> None:
    """PEP 495: the instant is the same all the same; keep such moments in UTC to compare them."""
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    event = Moment(aggregate_id="1", at=dt.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=berlin))

    back = MOMENTS.deserialize(MOMENTS.serialize(event), event_type="test.moment", event_version=1)

    assert isinstance(back, Moment)
    assert back != event
    assert back.at.astimezone(dt.UTC) == event.at.astimezone(dt.UTC)
