"""Events outlive the code that raised them: what becomes of each change, through store and relay.

The old code's classes write, the new code's read; both know the events by their names only.
"""

import datetime as dt
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.application.outbox import EventEncoding, OutboxRelay, OutboxRelayConfig
from pragmatic_ddd.errors import EventTypeError
from pragmatic_ddd.ports import OutboxMessage, OutboxStatus
from pragmatic_ddd.testing.faults import ScriptedPublisher
from pragmatic_ddd.testing.outbox_binding import row
from pragmatic_ddd_local import InMemoryEventManager
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer, Upcaster
from tests.adapters.sqlalchemy.outboxes import lasting_outbox  # noqa: F401  # a fixture
from tests.databases import OutboxDatabase

_AN_HOUR = dt.timedelta(hours=1)
_MOST_ATTEMPTS = 3
_CONFIG = OutboxRelayConfig(max_attempts=_MOST_ATTEMPTS)


class _First:
    """The classes of the code that was deployed first."""

    class OrderPaid(DomainEvent, name="evolution.order.paid"):
        total: str
        note: str = ""

    class OrderShipped(DomainEvent, name="evolution.order.shipped"):
        parcels: int = 1


class PaymentReceived(DomainEvent, name="evolution.order.paid"):
    """Renamed in the code; the name that is stored stays."""

    total: str
    note: str = ""


class OrderSettled(DomainEvent, name="evolution.settled", aliases=("evolution.order.paid",)):
    """Renamed in every place."""

    total: str


class OrderPaid3(DomainEvent, name="evolution.order.paid", version=3):
    """Its third version: ``total`` became ``cents``, then ``cents`` and ``currency``."""

    cents: int
    currency: str


def _cents(raw: dict[str, Any]) -> dict[str, Any]:
    return {**raw, "cents": int(raw.pop("total")) * 100}


def _with_currency(raw: dict[str, Any]) -> dict[str, Any]:
    return {**raw, "currency": "EUR" if raw["cents"] < 1_000_000 else "USD"}


@attrs.define
class _Service:
    """A deployment of some code: its classes, its relay, and what its subscribers were given."""

    database: OutboxDatabase
    relay: OutboxRelay
    received: list[DomainEvent]

    def send(self) -> None:
        """Do rounds until nothing is due, as a relay does between two sleeps."""
        while self.relay.run_once().claimed:
            pass

    def send_after_backoff(self) -> None:
        self.database.pass_time(_AN_HOUR)
        self.send()


def _deployed(
    database: OutboxDatabase,
    *event_types: type[DomainEvent],
    upcasters: Sequence[tuple[int, Upcaster]] = (),
) -> _Service:
    registry = EventTypeRegistry(*event_types)
    for version, upcaster in upcasters:
        registry.register_upcaster(event_types[0], version, upcaster)
    events = InMemoryEventManager(OrjsonEventSerializer(registry))
    received: list[DomainEvent] = []
    for event_type in event_types:
        events.register_subscriber("reader", event_type, received.append)
    events.start()
    relay = OutboxRelay(store=database.store(), publisher=events, config=_CONFIG)
    return _Service(database, relay, received)


def _message(event: DomainEvent) -> OutboxMessage:
    encoding = EventEncoding(serializer=OrjsonEventSerializer(EventTypeRegistry()))
    return encoding.encode(event.placed_at(1, 0), aggregate_type="evolution.order")


def _paid(total: str = "12", *, of: str = "1", note: str = "") -> OutboxMessage:
    return _message(_First.OrderPaid(aggregate_id=of, total=total, note=note))


def _others() -> list[OutboxMessage]:
    return [_message(_First.OrderShipped(aggregate_id=f"other-{n}")) for n in range(9)]


@pytest.fixture
def outbox(lasting_outbox: OutboxDatabase) -> OutboxDatabase:  # noqa: F811
    lasting_outbox.clear()
    return lasting_outbox


def _check_dead(outbox: OutboxDatabase, message: OutboxMessage, *words: str) -> None:
    entry = row(outbox.store(), message.message_id)
    assert entry.status is OutboxStatus.FAILED
    for word in words:
        assert word in (entry.last_error or "")


def test_a_class_may_be_renamed_and_moved(outbox: OutboxDatabase) -> None:
    outbox.store().store([_paid("12", note="thanks")])

    service = _deployed(outbox, PaymentReceived)
    service.send()

    (event,) = service.received
    assert type(event) is PaymentReceived
    assert (event.total, event.note) == ("12", "thanks")


def test_an_event_may_be_renamed_with_an_alias(outbox: OutboxDatabase) -> None:
    new = _message(OrderSettled(aggregate_id="2", total="13"))
    outbox.store().store([_paid("12"), new])

    service = _deployed(outbox, OrderSettled)
    service.send()

    assert {type(event) for event in service.received} == {OrderSettled}
    assert [vars(event)["total"] for event in service.received] == ["12", "13"]


def test_an_old_version_takes_every_step_in_order(outbox: OutboxDatabase) -> None:
    second = attrs.evolve(
        _paid(of="2"), event_version=2, payload=_paid(of="2").payload.replace(b"total", b"cents")
    )
    second = attrs.evolve(second, payload=second.payload.replace(b'"12"', b"12"))
    third = _message(OrderPaid3(aggregate_id="3", cents=7, currency="JPY"))
    outbox.store().store([_paid("99999"), second, third])

    service = _deployed(outbox, OrderPaid3, upcasters=[(2, _with_currency), (1, _cents)])
    service.send()

    found = [(vars(event)["cents"], vars(event)["currency"]) for event in service.received]
    assert found == [(9_999_900, "USD"), (12, "EUR"), (7, "JPY")]


def _raise(_: dict[str, Any]) -> dict[str, Any]:
    raise LookupError("no rate for \0 \ud800 that day")


def test_a_step_that_raises_kills_its_event_and_no_other(outbox: OutboxDatabase) -> None:
    bad = _paid()
    outbox.store().store([bad, *_others()])

    service = _deployed(
        outbox, OrderPaid3, _First.OrderShipped, upcasters=[(1, _raise), (2, _with_currency)]
    )
    service.send()

    assert len(service.received) == 9
    _check_dead(outbox, bad, "evolution.order.paid", "from version 1 failed", "no rate for")


def test_a_gap_between_versions_is_found_when_the_application_starts() -> None:
    registry = EventTypeRegistry(OrderPaid3)
    registry.register_upcaster(OrderPaid3, 1, _cents)

    with pytest.raises(EventTypeError, match="OrderPaid3 from version 2"):
        OrjsonEventSerializer(registry)


@pytest.mark.parametrize("version", [1, 0, -1])
def test_a_gap_that_nobody_has_checked_kills_the_event(
    outbox: OutboxDatabase, version: int
) -> None:
    bad = attrs.evolve(_paid(), event_version=version)
    outbox.store().store([bad])
    registry = EventTypeRegistry()
    events = InMemoryEventManager(OrjsonEventSerializer(registry))
    registry.register(OrderPaid3)
    events.start()

    OutboxRelay(store=outbox.store(), publisher=events, config=_CONFIG).run_once()

    _check_dead(outbox, bad, f"no upcaster from version {version}")


def test_old_code_tries_a_newer_version_again_until_the_attempts_are_used_up(
    outbox: OutboxDatabase,
) -> None:
    """In a rolling deploy the old code meets the new events; a relay of the new code sends them."""
    newer = _message(OrderPaid3(aggregate_id="1", cents=7, currency="JPY"))
    outbox.store().store([newer, *_others()])
    old = _deployed(outbox, _First.OrderPaid, _First.OrderShipped)

    old.send()

    assert len(old.received) == 9
    entry = row(outbox.store(), newer.message_id)
    assert (entry.status, entry.attempts) == (OutboxStatus.PENDING, 1)
    assert "in version 3 is not known here" in (entry.last_error or "")
    assert entry.due_at > entry.created_at
    for _ in range(_MOST_ATTEMPTS - 1):
        old.send_after_backoff()
    _check_dead(outbox, newer, "in version 3 is not known here")
    assert row(outbox.store(), newer.message_id).attempts == _MOST_ATTEMPTS

    new = _deployed(outbox, OrderPaid3, upcasters=[(1, _cents), (2, _with_currency)])
    outbox.store().replay([newer.message_id])
    new.send()
    assert [vars(event)["cents"] for event in new.received] == [7]


def test_new_code_sends_what_old_code_has_put_off(outbox: OutboxDatabase) -> None:
    newer = _message(OrderPaid3(aggregate_id="1", cents=7, currency="JPY"))
    outbox.store().store([newer])
    _deployed(outbox, _First.OrderPaid).send()

    new = _deployed(outbox, OrderPaid3, upcasters=[(1, _cents), (2, _with_currency)])
    new.send_after_backoff()

    assert len(new.received) == 1
    assert row(outbox.store(), newer.message_id).status is OutboxStatus.SENT


def test_an_unknown_name_is_tried_again_while_the_others_go_out(outbox: OutboxDatabase) -> None:
    """The bad one comes first; a former name that is registered later brings it back."""
    unknown = _paid("12")
    outbox.store().store([unknown, *_others()])
    without_alias = _deployed(outbox, _First.OrderShipped)

    without_alias.send()
    assert len(without_alias.received) == 9
    for attempts in range(1, _MOST_ATTEMPTS):
        assert row(outbox.store(), unknown.message_id).attempts == attempts
        without_alias.send_after_backoff()
    _check_dead(outbox, unknown, "'evolution.order.paid' in version 1 is not known here")

    with_alias = _deployed(outbox, OrderSettled)
    outbox.store().replay([unknown.message_id])
    with_alias.send()
    assert [type(event) for event in with_alias.received] == [OrderSettled]


def test_a_broker_is_handed_the_stored_bytes_whatever_the_code_knows(
    outbox: OutboxDatabase,
) -> None:
    messages = [
        _paid("12"),
        attrs.evolve(_paid(of="2"), event_version=99),
        attrs.evolve(_paid(of="3"), event_type="never.heard.of"),
        attrs.evolve(_paid(of="4"), payload=b' {"b":1, "a":1.10,\n"a":"\\u00e9 \\ud83d\\ude00"}\t'),
        attrs.evolve(_paid(of="5"), payload=b"no JSON at all"),
    ]
    outbox.store().store(messages)
    broker = ScriptedPublisher()

    OutboxRelay(store=outbox.store(), publisher=broker, config=_CONFIG).run_once()

    assert broker.delivered == messages


class Corrected(DomainEvent, name="evolution.order.paid"):
    """What the new code has made of it, without a new version."""

    total: str
    channel: str = "shop"


class Demanding(DomainEvent, name="evolution.order.paid"):
    """A field was added without a default, and without a new version."""

    total: str
    channel: str


class Retyped(DomainEvent, name="evolution.order.paid"):
    """A field has another type, without a new version."""

    total: int


def test_a_field_that_was_added_has_its_default_and_one_that_was_removed_is_passed_over(
    outbox: OutboxDatabase,
) -> None:
    outbox.store().store([_paid("12", note="gone")])

    service = _deployed(outbox, Corrected)
    service.send()

    (event,) = service.received
    assert vars(event)["channel"] == "shop"
    assert "note" not in vars(event)


@pytest.mark.parametrize(
    ("event_type", "words"),
    [(Demanding, ("field channel", "is missing")), (Retyped, ("field total", "not int"))],
)
def test_a_change_without_a_new_version_kills_old_events_and_names_the_field(
    outbox: OutboxDatabase, event_type: type[DomainEvent], words: tuple[str, ...]
) -> None:
    bad = _paid("twelve")
    outbox.store().store([bad, *_others()])

    service = _deployed(outbox, event_type, _First.OrderShipped)
    service.send()

    assert len(service.received) == 9
    _check_dead(outbox, bad, *words)


@pytest.mark.parametrize(
    "payload",
    [
        b"no JSON",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b"12",
        b"NaN",
        b"{}",
        b"[" * 5000,
        b"\xef\xbb\xbf{}",
    ],
    ids=lambda payload: repr(payload[:8]),
)
def test_what_is_no_payload_is_dead_at_once_and_the_others_go_out(
    outbox: OutboxDatabase, payload: bytes
) -> None:
    bad = attrs.evolve(_paid(), payload=payload)
    outbox.store().store([bad, *_others()])

    service = _deployed(outbox, _First.OrderPaid, _First.OrderShipped)
    service.send()

    assert len(service.received) == 9
    _check_dead(outbox, bad, "cannot deserialize evolution.order.paid")
    assert row(outbox.store(), bad.message_id).failures == 1


_TRAP = """
import pathlib
pathlib.Path(__file__).with_suffix(".sprung").touch()
def spring(*arguments, **options):
    pathlib.Path(__file__).with_suffix(".sprung").touch()
Trap = Spring = spring
"""


def test_a_name_from_the_database_is_looked_up_and_never_imported(
    outbox: OutboxDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evolution_trap.py").write_text(_TRAP)
    monkeypatch.syspath_prepend(tmp_path)
    target = tmp_path / "made_by_a_name"
    names = (
        "evolution_trap",
        "evolution_trap.Trap",
        "evolution_trap:spring",
        "os.system",
        "builtins.eval",
        "subprocess.Popen",
        "__main__",
        "pragmatic_ddd.domain.events.DomainEvent",
        f"__import__('os').system('touch {target}')",
    )
    payload = (
        b'{"py/reduce":[{"py/type":"os.system"},["true"]],"__class__":"evolution_trap.Trap",'
        b'"_type":"evolution_trap.Trap","args":["true"]}'
    )
    hostile = [
        attrs.evolve(_paid(of=str(number)), event_type=name, payload=payload)
        for number, name in enumerate(names)
    ]
    known = attrs.evolve(_paid(of="known"), payload=payload)
    outbox.store().store([*hostile, known])

    service = _deployed(outbox, _First.OrderPaid)
    service.send()
    for _ in range(_MOST_ATTEMPTS):
        service.send_after_backoff()

    assert service.received == []
    for message in (*hostile, known):
        _check_dead(outbox, message)
    assert "evolution_trap" not in sys.modules
    assert not (tmp_path / "evolution_trap.sprung").exists()
    assert not target.exists()


class SettledTwice(DomainEvent, name="evolution.settled.twice", aliases=("evolution.settled",)):
    """Claims the name of another class."""


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        (_First.OrderPaid, PaymentReceived, "evolution.order.paid"),
        (_First.OrderPaid, OrderSettled, "evolution.order.paid"),
        (OrderSettled, _First.OrderPaid, "evolution.order.paid"),
        (OrderSettled, SettledTwice, "evolution.settled"),
    ],
)
def test_a_name_that_two_classes_claim_is_refused_when_the_application_starts(
    first: type[DomainEvent], second: type[DomainEvent], name: str
) -> None:
    with pytest.raises(EventTypeError, match=name):
        EventTypeRegistry(first, second)
