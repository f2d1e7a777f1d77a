"""Times: a row's are the database's, in UTC, to the microsecond; an event's keep their offset."""

import datetime as dt
import time
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from pragmatic_ddd import DomainEvent
from pragmatic_ddd.application.outbox import EventEncoding
from pragmatic_ddd.testing.messages import A_MINUTE, a_message, delivered
from pragmatic_ddd.testing.outbox_binding import row
from pragmatic_ddd_orjson import EventTypeRegistry, OrjsonEventSerializer
from tests.adapters.sqlalchemy.outboxes import (
    lasting_outbox,  # noqa: F401  # a fixture
    set_on_connect,
)
from tests.databases import (
    OutboxDatabase,
    mariadb_engine,
    outbox_database,
    postgresql_engine,
)

_TOKYO = dt.timezone(dt.timedelta(hours=9))
_NEARLY_MIDNIGHT = dt.datetime(2026, 1, 2, 23, 59, 59, 999_999, tzinfo=dt.UTC)
_TIMES = ("due_at", "claimed_at", "created_at", "sent_at")


class Scheduled(DomainEvent, name="test.scheduled"):
    at: dt.datetime


ENCODING = EventEncoding(serializer=OrjsonEventSerializer(EventTypeRegistry(Scheduled)))


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the process live in another zone than its databases."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("new_york")
def test_a_moment_in_tokyo_stays_one_in_a_process_in_new_york(
    lasting_outbox: OutboxDatabase,  # noqa: F811
) -> None:
    lasting_outbox.clear()
    store = lasting_outbox.store()
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=_TOKYO)
    event = Scheduled(aggregate_id="1", at=moment, occurred_at=moment)
    store.store([ENCODING.encode(event, aggregate_type="test")])

    (claimed,) = store.claim_pending(batch_size=9, lease=A_MINUTE)
    store.mark_sent(delivered(claimed))

    back = ENCODING.decode(claimed.message)
    assert isinstance(back, Scheduled)
    assert (back.at, back.at.utcoffset()) == (moment, dt.timedelta(hours=9))
    assert (back.occurred_at, back.occurred_at.utcoffset()) == (moment, dt.timedelta(hours=9))
    entry = row(store, event.event_id)
    for at in (entry.created_at, entry.due_at, entry.sent_at):
        assert at is not None
        assert at.utcoffset() == dt.timedelta()
        assert abs(at - dt.datetime.now(dt.UTC)) < 2 * A_MINUTE


def test_microseconds_are_kept(lasting_outbox: OutboxDatabase) -> None:  # noqa: F811
    lasting_outbox.clear()
    store = lasting_outbox.store()
    store.store([a_message("m1")])
    table = lasting_outbox.table
    with lasting_outbox.engine.begin() as connection:
        connection.execute(sa.update(table).values(dict.fromkeys(_TIMES, _NEARLY_MIDNIGHT)))

    entry = row(store, "m1")
    assert (entry.created_at, entry.due_at, entry.sent_at) == (_NEARLY_MIDNIGHT,) * 3


def test_what_is_due_now_is_claimed_now_in_the_order_it_was_raised(
    lasting_outbox: OutboxDatabase,  # noqa: F811
) -> None:
    """A thousand in far less than a second, each at once: no time is rounded into the future."""
    lasting_outbox.clear()
    store = lasting_outbox.store()
    store.store([a_message(f"m{number}") for number in range(1000)])

    claimed = store.claim_pending(batch_size=1000, lease=A_MINUTE)

    assert [one.message.message_id for one in claimed] == [f"m{n}" for n in range(1000)]


def _check_ages(database: OutboxDatabase) -> None:
    store = database.store()
    for number in range(5):
        store.store([a_message(of=str(number))])
        assert len(store.claim_pending(batch_size=9, lease=A_MINUTE)) == 1
    assert store.backlog().oldest_unsent_age < A_MINUTE
    wait = store.next_due_in()
    assert wait is not None
    assert wait <= A_MINUTE


@pytest.mark.service("postgresql")
@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "Asia/Kathmandu"])
def test_the_session_s_zone_means_nothing_on_postgresql(zone: str) -> None:
    engine = postgresql_engine()
    set_on_connect(engine, f"SET TIME ZONE '{zone}'")
    engine.dispose()
    with outbox_database(engine) as database:
        _check_ages(database)


@pytest.mark.service("mariadb")
@pytest.mark.parametrize("zone", ["+09:00", "-05:00", "+05:45"])
@pytest.mark.parametrize("mode", ["", "TIME_ROUND_FRACTIONAL"])
def test_the_session_s_zone_and_rounding_mean_nothing_on_mariadb(zone: str, mode: str) -> None:
    engine = mariadb_engine()
    set_on_connect(engine, f"SET SESSION time_zone = '{zone}', sql_mode = '{mode}'")
    with outbox_database(engine) as database:
        _check_ages(database)
