"""What cannot come back is refused when it is stored, by the same rule on every database.

The error names the place and the rule; nothing is stored, and the session goes on.
"""

import enum

import pytest

from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd.errors import EventSerializationError
from pragmatic_ddd.ports import OutboxMessage, Reservation
from pragmatic_ddd.testing.messages import A_MINUTE, a_message
from pragmatic_ddd.testing.serializer import REFUSALS, ValuesRecorded
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_sqlalchemy.errors import RefusedByDatabaseError
from tests.adapters.sqlalchemy.databases import any_shop  # noqa: F401  # a fixture
from tests.adapters.sqlalchemy.models import Order
from tests.adapters.sqlalchemy.outboxes import (
    lasting_outbox,  # noqa: F401  # a fixture
    lax_mariadb_engine,
)
from tests.adapters.sqlalchemy.shop import Shop
from tests.databases import OutboxDatabase, outbox_database

_SURROGATE = "half \ud800"


def _recorded(field: str, value: object, *, of: str = "o1") -> ValuesRecorded:
    values: dict[str, object] = {field: value}
    return ValuesRecorded(aggregate_id=of, **values)  # type: ignore[arg-type]  # any field


def test_an_aggregate_s_event_is_refused_by_the_commit_and_the_session_goes_on(
    any_shop: Shop,  # noqa: F811
) -> None:
    any_shop.place("o1")
    before = any_shop.rows()
    with any_shop.sessions() as session:
        for field, value, path in REFUSALS:
            order = session.get_one(Order, "o1")
            order.pay()
            order.collect_event(_recorded(field, value))

            with pytest.raises(EventSerializationError) as refusal:
                session.commit()

            assert refusal.value.field.startswith(path)
            session.rollback()
        assert any_shop.orders() == {"o1": (False, 1)}
        assert any_shop.rows() == before
        assert any_shop.eager.announced == []

        session.get_one(Order, "o1").pay()
        session.commit()

    assert any_shop.rows() == [*before, "order.paid"]


def test_a_recorded_event_is_refused_at_once_and_the_transaction_goes_on(
    any_shop: Shop,  # noqa: F811
) -> None:
    with any_shop.sessions.begin() as session:
        recorder = any_shop.outbox.recorder(session)
        for field, value, path in REFUSALS:
            with pytest.raises(EventSerializationError) as refusal:
                recorder.record("test.job", "o1", _recorded(field, value))
            assert refusal.value.field.startswith(path)
        recorder.record("test.job", "o1", _recorded("text", "good"))

    assert any_shop.rows() == ["contract.values.recorded"]


def test_a_payload_over_the_limit_is_refused_before_anything_is_sent(
    any_shop: Shop,  # noqa: F811
) -> None:
    encoding = EventEncoding(serializer=OrjsonEventSerializer(EventTypeRegistry()))
    largest = encoding.largest_payload_bytes
    with any_shop.sessions.begin() as session:
        session.add(Order.place("o1"))
        recorder = any_shop.outbox.recorder(session)
        with pytest.raises(EventSerializationError, match=f"bytes of JSON, at most {largest}"):
            recorder.record("test.job", "j1", _recorded("text", "x" * largest, of="j1"))

    assert any_shop.rows() == ["order.placed"]


def _a_message(**fields: object) -> OutboxMessage:
    values: dict[str, object] = {
        "message_id": "m1",
        "aggregate_type": "shop.order",
        "aggregate_id": "1",
        "event_type": "shop.order.paid",
        "payload": b"{}",
    }
    return OutboxMessage(**(values | fields))  # type: ignore[arg-type]  # some are wrong


_KEYS = ("message_id", "aggregate_type", "aggregate_id", "event_type")
_BAD_KEYS = ("", "x" * 201, "\N{GRINNING FACE}" * 201, "a\0b", _SURROGATE, "space ")
_BAD_FIELDS: list[tuple[str, object]] = [
    *((key, value) for key in _KEYS for value in _BAD_KEYS),
    ("event_version", 2**31),
    ("event_version", 2**40),
    ("event_version", True),
    ("event_index", 2**31),
    ("event_index", -(2**31) - 1),
    ("aggregate_version", 2**63),
    ("aggregate_version", "a3f"),
    ("headers", {"tenant": 1}),
    ("headers", {1: "tenant"}),
    ("headers", {"tenant": None}),
    ("headers", {"tenant": _SURROGATE}),
    ("headers", {_SURROGATE: "tenant"}),
    ("payload", b'{"text":"\xed\xa0\x80"}'),
]


def _check_refused(database: OutboxDatabase) -> None:
    store = database.store()
    for field, value in _BAD_FIELDS:
        good = a_message("good", of="2")
        with pytest.raises(RefusedByDatabaseError) as refusal:
            store.store([good, _a_message(**{field: value})])

        assert field.removesuffix("s") in str(refusal.value)
        assert len(str(refusal.value)) < 1000
        assert not refusal.value.retryable
        assert store.find("good") is None
        assert store.backlog().pending == 0


def test_what_a_column_would_change_is_refused_with_its_name(
    lasting_outbox: OutboxDatabase,  # noqa: F811
) -> None:
    lasting_outbox.clear()
    _check_refused(lasting_outbox)


@pytest.mark.service("mariadb")
def test_what_a_column_would_change_is_refused_where_the_server_would_change_it() -> None:
    with outbox_database(lax_mariadb_engine()) as database:
        _check_refused(database)


def test_what_just_fits_is_kept(lasting_outbox: OutboxDatabase) -> None:  # noqa: F811
    lasting_outbox.clear()
    store = lasting_outbox.store()
    key = "\N{GRINNING FACE}" * 200
    message = OutboxMessage(
        message_id=key,
        aggregate_type=key,
        aggregate_id=key,
        aggregate_version=2**63 - 1,
        event_index=2**31 - 1,
        event_type=key,
        event_version=2**31 - 1,
        payload=b"{}",
    )
    (stored,) = store.store(
        [message], reservation=Reservation(claim_token="\U00020000" * 64, grace=A_MINUTE)
    )

    assert stored.claim is not None
    assert store.release([stored.claim]) == 1
    (claimed,) = store.claim_pending(batch_size=9, lease=A_MINUTE)
    entry = store.find(key)
    assert entry is not None
    assert claimed.message == entry.message == message


class _Schema(int, enum.Enum):
    SECOND = 2


@pytest.mark.parametrize("beside", [0, 1])
def test_a_number_of_a_class_of_its_own_is_stored_as_the_number_that_it_is(
    lasting_outbox: OutboxDatabase,  # noqa: F811
    beside: int,
) -> None:
    lasting_outbox.clear()
    store = lasting_outbox.store()

    store.store(
        [
            _a_message(aggregate_version=_Schema.SECOND, event_version=_Schema.SECOND),
            *(a_message(of="2") for _ in range(beside)),
        ]
    )

    entry = store.find("m1")
    assert entry is not None
    assert (entry.message.aggregate_version, entry.message.event_version) == (2, 2)


@pytest.mark.parametrize("token", ["", "t" * 65, "a\0b", _SURROGATE, "space "])
def test_a_claim_token_that_a_column_would_change_is_refused(
    lasting_outbox: OutboxDatabase,  # noqa: F811
    token: str,
) -> None:
    lasting_outbox.clear()
    store = lasting_outbox.store()

    with pytest.raises(RefusedByDatabaseError, match="claim token"):
        store.store([a_message()], reservation=Reservation(claim_token=token, grace=A_MINUTE))

    assert store.backlog().pending == 0


def test_the_claim_token_of_nobody_is_nobodys(
    lasting_outbox: OutboxDatabase,  # noqa: F811
) -> None:
    lasting_outbox.clear()
    store = lasting_outbox.store()

    with pytest.raises(RefusedByDatabaseError, match="'nobody': it says that a row has no owner"):
        store.store([a_message()], reservation=Reservation(claim_token="nobody", grace=A_MINUTE))

    assert store.backlog().pending == 0
