"""Sizes: what is larger than a column, a statement or a packet takes is kept whole, or refused."""

import json
import threading

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from pragmatic_ddd.testing.messages import A_MINUTE, a_message, failed
from pragmatic_ddd.testing.outbox_binding import row
from pragmatic_ddd_sqlalchemy.errors import RefusedByDatabaseError
from pragmatic_ddd_sqlalchemy.rows import batches
from tests.adapters.sqlalchemy.outboxes import (
    lasting_outbox,  # noqa: F401  # a fixture
    lax_mariadb_engine,
    stored_bytes,
)
from tests.databases import OutboxDatabase, mariadb_engine, outbox_database

SIZES = (65_535, 65_536, 1_000_000)


def _payload(size: int, character: str) -> bytes:
    encoded = character.encode()
    text = encoded * ((size - 2) // len(encoded))
    return b'"' + text + b"x" * (size - 2 - len(text)) + b'"'


@pytest.mark.service("mariadb")
@pytest.mark.parametrize("is_strict", [True, False], ids=["strict", "lax"])
def test_no_payload_is_cut_on_mariadb(*, is_strict: bool) -> None:
    with outbox_database(mariadb_engine() if is_strict else lax_mariadb_engine()) as database:
        store = database.store()
        for size in SIZES:
            for character in ("x", "\N{GRINNING FACE}"):
                payload = _payload(size, character)
                message = a_message(payload=payload)
                store.store([message])

                assert row(store, message.message_id).message.payload == payload
                assert stored_bytes(database, message.message_id) == payload


def _packet(database: OutboxDatabase) -> int:
    with database.engine.connect() as connection:
        return int(connection.exec_driver_sql("SELECT @@max_allowed_packet").scalar_one())


@pytest.mark.service("mariadb")
@pytest.mark.parametrize(
    ("character", "share"), [("x", 1.0), ("x", 2.5), ('"', 0.55), ("\N{GRINNING FACE}", 1.1)]
)
def test_a_payload_above_the_packet_is_refused_before_it_is_sent(
    character: str, share: float
) -> None:
    """However large: the server would hang up in the middle, which looks like an outage."""
    with outbox_database(mariadb_engine()) as database:
        store = database.store()
        payload = _payload(int(_packet(database) * share), character)
        with Session(database.engine) as session, session.begin():
            connection = session.connection()
            before = connection.exec_driver_sql("SELECT CONNECTION_ID()").scalar_one()

            with pytest.raises(RefusedByDatabaseError, match="max_allowed_packet") as refusal:
                store.store_in(connection, [a_message("small", of="1"), a_message(payload=payload)])

            assert not refusal.value.retryable
            # The same connection and the same transaction go on.
            assert connection.exec_driver_sql("SELECT CONNECTION_ID()").scalar_one() == before
            store.store_in(connection, [a_message("other", of="2")])

        assert store.find("other") is not None
        assert store.find("small") is None


@pytest.mark.service("mariadb")
def test_a_payload_just_below_the_packet_is_stored_whole() -> None:
    with outbox_database(mariadb_engine()) as database:
        store = database.store()
        payload = _payload(_packet(database) - 4096, "x")
        store.store([a_message("large", payload=payload)])

        assert row(store, "large").message.payload == payload


@pytest.mark.service("mariadb")
@pytest.mark.parametrize("verb", ["retry_later", "mark_failed"])
def test_results_of_a_large_batch_with_long_errors_are_written(verb: str) -> None:
    """Together they are more than a packet: results that fit into none would come for ever."""
    with outbox_database(mariadb_engine()) as database:
        store = database.store()
        error = "\N{GRINNING FACE}" * 4000
        count = _packet(database) // len(error.encode()) + 10
        store.store([a_message(of=str(number)) for number in range(count)])
        claimed = store.claim_pending(batch_size=count, lease=A_MINUTE)

        assert getattr(store, verb)(failed(*claimed, error=error)) == count

        assert store.backlog().processing == 0
        assert row(store, claimed[-1].message.message_id).last_error == error


def test_one_transaction_may_store_more_ids_than_fit_into_one_parameter(
    lasting_outbox: OutboxDatabase,  # noqa: F811
) -> None:
    lasting_outbox.clear()
    store = lasting_outbox.store()
    messages = [a_message(f"{number:0190}", of=str(number % 7)) for number in range(3000)]

    stored = store.store(messages)

    assert [one.message for one in stored] == messages
    assert [one.id for one in stored] == sorted({one.id for one in stored})
    assert store.find(f"{2999:0190}") is not None


def test_a_batch_is_one_parameter_unless_it_is_very_large() -> None:
    small = [{"id": number, "error": "x" * 1000} for number in range(200)]

    assert len(list(batches(small))) == 1
    assert list(batches([])) == []
    assert list(batches([1, "a"])) == ['[1,"a"]']
    large = [f"{number}{'x' * 100_000}" for number in range(5)]
    parts = list(batches(large))
    assert len(parts) == 3
    assert [value for part in parts for value in json.loads(part)] == large
    assert len(list(batches(["x" * 1_000_000] * 2))) == 2


@pytest.mark.service("mariadb")
def test_other_threads_do_not_notice_a_payload_above_the_packet() -> None:
    with outbox_database(mariadb_engine()) as database:
        store = database.store()
        payload = _payload(_packet(database) * 2, "x")
        failures: list[Exception] = []

        def write() -> None:
            try:
                for _ in range(20):
                    store.store([a_message()])
            except Exception as error:  # noqa: BLE001  # shown by the test
                failures.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        for _ in range(3):
            with pytest.raises(RefusedByDatabaseError):
                store.store([a_message(payload=payload)])
        writer.join()

        assert failures == []
        assert store.backlog().pending == 20
        pool = database.engine.pool
        assert isinstance(pool, sa.QueuePool)
        assert pool.checkedout() == 0
