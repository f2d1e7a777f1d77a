"""Every way of mapping an aggregate: its events find their version and their id."""

import logging

import pytest

from tests.adapters.sqlalchemy.databases import any_shop, shop
from tests.adapters.sqlalchemy.models import (
    Badge,
    Booking,
    Counter,
    Gauge,
    Happened,
    Lorry,
    Note,
    Ticket,
)
from tests.adapters.sqlalchemy.shop import Shop

__all__ = ["any_shop", "shop"]


def test_an_aggregate_without_columns_of_its_own_gets_a_new_version(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        session.add(Counter(id="c1"))
    with shop.sessions.begin() as session:
        session.get_one(Counter, "c1").collect_event(Happened(aggregate_id="c1"))

    assert shop.places() == [("happened", "c1", 2, 0)]


def test_versions_that_the_database_makes_are_read_after_the_write(shop: Shop) -> None:
    gauges = Gauge.__tablename__
    with shop.engine.begin() as connection:
        connection.exec_driver_sql(
            f"CREATE TRIGGER {gauges}_version AFTER UPDATE OF level ON {gauges} BEGIN "
            f"UPDATE {gauges} SET version = version + 1 WHERE id = NEW.id; END"
        )
    with shop.sessions.begin() as session:
        gauge = Gauge(id="g1")
        gauge.read(0)
        session.add(gauge)
    for level in (0, 1, 1):
        with shop.sessions.begin() as session:
            session.get_one(Gauge, "g1").read(level)

    assert [version for *_, version, _ in shop.places()] == [1, 2, 3, 4]


def test_an_aggregate_without_versions_stores_its_events_without_one(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        note = Note(id="n1")
        note.collect_event(Happened(aggregate_id="n1"))
        session.add(note)
    with shop.sessions.begin() as session:
        note = session.get_one(Note, "n1")
        note.text = "changed"
        note.collect_event(Happened(aggregate_id="n1"))
        note.collect_event(Happened(aggregate_id="n1"))

    assert [place[1:] for place in shop.places()] == [
        ("n1", None, 0),
        ("n1", None, 0),
        ("n1", None, 1),
    ]
    assert shop.owners() == [False, False, False]


def test_a_deferred_event_knows_the_id_that_the_database_gave(any_shop: Shop) -> None:
    with any_shop.sessions.begin() as session:
        ticket = Ticket(title="lamp")
        ticket.open()
        session.add(ticket)
        session.flush()
        ticket_id = ticket.id

    assert ticket_id is not None
    assert any_shop.places() == [("happened", str(ticket_id), 1, 0)]


def test_an_event_with_an_id_that_does_not_exist_yet_is_refused_when_raised() -> None:
    ticket = Ticket(title="lamp")
    with pytest.raises(TypeError, match="collect_event_later"):
        ticket.collect_event(Happened(aggregate_id=ticket.id))  # type: ignore[arg-type]  # wrong on purpose
    assert len(ticket.triggered_events) == 0


def test_a_joined_table_hierarchy_gets_versions_from_its_base(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        session.add(Lorry(id="v1", load=0))
    for load in (5, 5):
        with shop.sessions.begin() as session:
            session.get_one(Lorry, "v1").haul(load)

    assert [place[1:] for place in shop.places()] == [("v1", 2, 0), ("v1", 3, 0)]


def test_an_aggregate_with_a_key_of_two_columns_is_known_by_its_id(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        session.add(Booking(hotel="ritz", number=7))  # type: ignore[call-arg]  # its id is made of them
    with shop.sessions.begin() as session:
        session.get_one(Booking, ("ritz", 7)).confirm()

    assert shop.places() == [("happened", "ritz:7", 2, 0)]


def test_a_mapped_dataclass_raises_events_like_any_other(shop: Shop) -> None:
    with shop.sessions.begin() as session:
        badge = Badge(id="b1")
        badge.hand_over("ann")
        session.add(badge)
    with shop.sessions.begin() as session:
        session.get_one(Badge, "b1").hand_over("ann")

    assert [place[1:] for place in shop.places()] == [("b1", 1, 0), ("b1", 2, 0)]


def test_an_aggregate_without_versions_is_named_once_in_the_log(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    for note_id in ("n1", "n2"):
        with shop.sessions.begin() as session:
            note = Note(id=note_id)
            note.collect_event(Happened(aggregate_id=note_id))
            session.add(note)

    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "Note is mapped without version_id_col" in record.message
