"""Moments in the hour that a zone has twice in autumn, and in the one that it leaves out in spring.

Python calls such a time equal to no time of another zone, also where it is the same moment.
"""

import datetime as dt
import zoneinfo

import pytest

from pragmatic_ddd.domain import DomainEvent
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


class LibraryDateTime(dt.datetime):
    """As those of libraries that freeze the time, or know more of zones."""


class Rang(DomainEvent, name="test.rang"):
    at: dt.datetime


def moments(kind: type[dt.datetime]) -> list[dt.datetime]:
    return [
        kind(2024, 10, 27, 2, 30, tzinfo=BERLIN),
        kind(2024, 10, 27, 2, 30, fold=1, tzinfo=BERLIN),
        kind(2024, 3, 31, 2, 30, tzinfo=BERLIN),
        kind(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=14))),
    ]


@pytest.mark.parametrize("at", [*moments(dt.datetime), *moments(LibraryDateTime)])
def test_a_moment_comes_back_with_its_clock_and_its_offset(at: dt.datetime) -> None:
    serializer = OrjsonEventSerializer(EventTypeRegistry(Rang))

    payload = serializer.serialize(Rang(aggregate_id="bell", at=at))
    event = serializer.deserialize(payload, event_type="test.rang", event_version=1)

    assert isinstance(event, Rang)
    assert type(event.at) is dt.datetime
    assert event.at.utcoffset() == at.utcoffset()
    assert event.at.replace(tzinfo=None) == at.replace(tzinfo=None)
