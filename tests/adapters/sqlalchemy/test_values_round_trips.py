"""Every value comes back equal and of its type from each database; the bytes sent are those stored.

Whole batches of generated events go through each database at once, so that many are tried.
"""

import datetime as dt
import zoneinfo
from collections.abc import Sequence
from decimal import Decimal

import attrs
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy.orm import sessionmaker

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd.ports import OutboxMessage, Reservation
from pragmatic_ddd.testing.messages import A_MINUTE, delivered
from pragmatic_ddd.testing.serializer import (
    CONTRACT_EVENTS,
    ROUND_TRIPS,
    ContractSigned,
    Folder,
    ValuesRecorded,
    shape,
    signed_from_version_1,
)
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from pragmatic_ddd_sqlalchemy import SqlAlchemyOutbox
from tests.adapters.orjson.everything import EVENTS, Everything, exact
from tests.adapters.sqlalchemy.outboxes import (
    lasting_outbox,  # noqa: F401  # a fixture
    stored_bytes,
)
from tests.databases import OutboxDatabase

# A failure is shown as it was found: to make it smaller would take minutes through a database,
# and the same strategies do so without one in tests/adapters/orjson.
BATCHES = settings(
    max_examples=8,
    phases=[Phase.generate],
    deadline=None,
    derandomize=True,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)


def _encoding() -> EventEncoding:
    registry = EventTypeRegistry(Everything, *CONTRACT_EVENTS)
    registry.register_upcaster(ContractSigned, 1, signed_from_version_1)
    return EventEncoding(serializer=OrjsonEventSerializer(registry))


ENCODING = _encoding()


def _messages(events: Sequence[DomainEvent]) -> list[OutboxMessage]:
    return [ENCODING.encode(event, aggregate_type="test.everything") for event in events]


def _sent(database: OutboxDatabase, count: int) -> dict[str, OutboxMessage]:
    """Claim and confirm everything; return what a publisher is handed."""
    store = database.store()
    claimed = store.claim_pending(batch_size=count + 1, lease=A_MINUTE)
    store.mark_sent(delivered(*claimed))
    return {one.message.message_id: one.message for one in claimed}


@given(st.lists(EVENTS, min_size=5, max_size=8))
@BATCHES
def test_generated_events_come_back_from_each_database(
    lasting_outbox: OutboxDatabase,  # noqa: F811
    events: list[Everything],
) -> None:
    lasting_outbox.clear()
    store = lasting_outbox.store()
    messages = _messages(events)
    store.store(messages)

    sent = _sent(lasting_outbox, len(messages))

    assert len(sent) == len(messages)
    for event, message in zip(events, messages, strict=True):
        entry = store.find(message.message_id)
        assert entry is not None
        assert sent[message.message_id] == entry.message == message
        assert stored_bytes(lasting_outbox, message.message_id) == message.payload
        back = ENCODING.decode(sent[message.message_id])
        assert back == event
        assert exact(back) == exact(event)


def _awkward_events() -> list[DomainEvent]:
    events: list[DomainEvent] = []
    for field, value in ROUND_TRIPS:
        values: dict[str, object] = {field: value}
        events.append(ValuesRecorded(aggregate_id="v-1", **values))  # type: ignore[arg-type]  # any field
    deep = Folder("leaf \N{GRINNING FACE}")
    for _ in range(100):
        deep = Folder("", (deep,))
    new_york = zoneinfo.ZoneInfo("America/New_York")
    events += [
        ValuesRecorded(aggregate_id="v-1", folder=deep),
        ValuesRecorded(aggregate_id="v-1", text="\N{GRINNING FACE}" * 250_000),
        ValuesRecorded(aggregate_id="v-1", text="\0\\\"'%:;`$1\r\n\x1a" * 50_000),
        ValuesRecorded(aggregate_id="v-1", data=bytes(range(256)) * 4000),
        ValuesRecorded(aggregate_id="v-1", number=10**4000),
        *(
            ValuesRecorded(
                aggregate_id="v-1",
                instant=dt.datetime(2026, 11, 1, 1, 30, tzinfo=new_york, fold=fold),
            )
            for fold in (0, 1)
        ),
        ValuesRecorded(
            aggregate_id="v-1",
            instant=dt.datetime(
                1883, 11, 18, 1, 2, 3, 4, tzinfo=dt.timezone(-dt.timedelta(seconds=17762))
            ),
        ),
        ValuesRecorded(aggregate_id="v-1", decimal=Decimal("-1.10E-1000")),
    ]
    return events


AWKWARD = _awkward_events()


def _check_awkward(sent: dict[str, OutboxMessage]) -> None:
    for event, message in zip(AWKWARD, _messages(AWKWARD), strict=True):
        assert sent[message.message_id].payload == message.payload
        back = ENCODING.decode(sent[message.message_id])
        assert shape(back) == shape(event)


def test_every_awkward_value_comes_back_by_the_relay_s_way(
    lasting_outbox: OutboxDatabase,  # noqa: F811
) -> None:
    lasting_outbox.clear()
    lasting_outbox.store().store(_messages(AWKWARD))

    _check_awkward(_sent(lasting_outbox, len(AWKWARD)))


def test_every_awkward_value_comes_back_by_the_eager_way(
    lasting_outbox: OutboxDatabase,  # noqa: F811
) -> None:
    lasting_outbox.clear()
    store = lasting_outbox.store()
    messages = [
        attrs.evolve(message, aggregate_id=f"v-{number}", aggregate_version=1)
        for number, message in enumerate(_messages(AWKWARD))
    ]
    stored = store.store(messages, reservation=Reservation(claim_token="t", grace=A_MINUTE))
    assert [one.claim.message for one in stored if one.claim is not None] == messages
    store.release([one.claim for one in stored if one.claim is not None])

    claimed = store.claim([one.id for one in stored], lease=A_MINUTE)

    _check_awkward({one.message.message_id: one.message for one in claimed})


def test_every_awkward_value_comes_back_from_a_session(
    lasting_outbox: OutboxDatabase,  # noqa: F811
) -> None:
    lasting_outbox.clear()
    outbox = SqlAlchemyOutbox(store=lasting_outbox.store(), encoding=ENCODING)
    sessions = sessionmaker(lasting_outbox.engine)
    outbox.attach(sessions)

    with sessions.begin() as session:
        for event in AWKWARD:
            outbox.recorder(session).record("test.everything", "v-1", event)

    _check_awkward(_sent(lasting_outbox, len(AWKWARD)))


@pytest.mark.parametrize("field", ["message_id", "aggregate_id", "event_type"])
def test_what_a_person_looks_for_is_plain_text(
    lasting_outbox: OutboxDatabase,  # noqa: F811
    field: str,
) -> None:
    """A UUID is found by its 36 characters, on every database: no column has a type for it."""
    lasting_outbox.clear()
    event = ValuesRecorded(aggregate_id="01890a5d-ac96-774b-bcce-b302099a8057")
    lasting_outbox.store().store(_messages([event]))
    column = lasting_outbox.table.c[field]

    with lasting_outbox.engine.connect() as connection:
        query = column.table.select().where(
            column == getattr(event, {"message_id": "event_id"}.get(field, field))
        )
        assert len(connection.execute(query).all()) == 1
