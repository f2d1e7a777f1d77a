"""Odd text everywhere but in the payload: ids, headers, errors, receipts, tokens, notes."""

from collections.abc import Sequence

import attrs
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pragmatic_ddd.ports import OutboxMessage, Reservation
from pragmatic_ddd.testing.messages import A_MINUTE, a_message, delivered, failed
from pragmatic_ddd.testing.outbox_binding import row
from pragmatic_ddd_sqlalchemy.table import LONGEST_ERROR, LONGEST_RECEIPT
from tests.adapters.sqlalchemy.outboxes import (
    lasting_outbox,  # noqa: F401  # a fixture
    lax_mariadb_engine,
)
from tests.databases import OutboxDatabase, outbox_database

ODD = (
    "\N{GRINNING FACE}",
    "\U00020000\U0002fa1f",  # CJK extension B and beyond
    "e\N{COMBINING ACUTE ACCENT}",
    "\N{LATIN SMALL LETTER E WITH ACUTE}",
    "\N{LATIN CAPITAL LETTER E WITH ACUTE}",
    "e",
    "E",
    "ss",
    "\N{LATIN SMALL LETTER SHARP S}",
    "\N{FULLWIDTH LATIN SMALL LETTER E}",
    " e",
    "\te",
    "e\t",
    "'",
    '"',
    "`",
    "\\",
    "\\'",
    "\\u0041",
    "%",
    "%s",
    "%(x)s",
    "_",
    ":name",
    "$1",
    "?",
    "{outbox}",
    "; DROP TABLE x; --",
    "null",
    "1e5",
    "01",
    "1",
    "\x01\x1a\x7f\x85",
    "\N{LINE SEPARATOR}\N{ZERO WIDTH JOINER}\N{RIGHT-TO-LEFT OVERRIDE}",
    "\N{BYTE ORDER MARK}x\N{REPLACEMENT CHARACTER}\uffff\U0010ffff",
)


GENERATED = settings(
    max_examples=5,
    phases=[Phase.generate],  # to make a failure smaller would take minutes through a database
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def _keys() -> st.SearchStrategy[str]:
    """Make texts of every kind of character, and short ones of few, that differ in little."""
    anything = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    alike = st.sampled_from("eE\N{COMBINING ACUTE ACCENT}\t\x01 \\'\"%")
    texts = st.text(anything, min_size=1, max_size=30) | st.text(alike, min_size=1, max_size=3)
    return texts.filter(lambda text: not text.endswith(" "))


def test_ids_that_look_alike_are_told_apart_by_every_statement(
    lasting_outbox: OutboxDatabase,  # noqa: F811
) -> None:
    _check_told_apart(lasting_outbox, ODD)


@given(st.lists(_keys(), min_size=20, max_size=40, unique=True))
@GENERATED
def test_generated_ids_are_told_apart_by_every_statement(
    lasting_outbox: OutboxDatabase,  # noqa: F811
    texts: list[str],
) -> None:
    _check_told_apart(lasting_outbox, texts)


def _check_told_apart(database: OutboxDatabase, texts: Sequence[str]) -> None:
    database.clear()
    store = database.store()
    messages = [
        OutboxMessage(
            message_id=text,
            aggregate_type=text,
            aggregate_id=text,
            aggregate_version=1,
            event_type=text,
            payload=b"{}",
            headers={text: text},
        )
        for text in texts
    ]

    stored = store.store(messages, reservation=Reservation(claim_token="t", grace=A_MINUTE))
    # Born owned: each of an aggregate of its own, of which no other row is unsent.
    claims = [one.claim for one in stored if one.claim is not None]
    assert [one.message for one in claims] == messages
    assert store.release(claims) == len(texts)
    claimed = store.claim_pending(batch_size=len(texts), lease=A_MINUTE)
    assert {one.message.message_id: one.message for one in claimed} == dict(
        zip(texts, messages, strict=True)
    )
    assert store.mark_failed(failed(*claimed)) == len(texts)
    for text, message in zip(texts, messages, strict=True):
        assert row(store, text).message == message
    for text in texts[:5]:
        assert store.replay([text]) == 1
    assert store.replay(texts) == len(texts) - 5
    assert store.backlog().failed == 0


def test_an_id_that_is_only_nearly_the_one_of_a_row_finds_nothing(
    lasting_outbox: OutboxDatabase,  # noqa: F811
) -> None:
    lasting_outbox.clear()
    store = lasting_outbox.store()
    (stored,) = store.store([a_message("m1")])
    store.mark_failed(failed(*store.claim([stored.id], lease=A_MINUTE)))

    for text in ("M1", "m1 ", " m1", "m1\t", "m1\0", "m1\ud800", "m%", "m_", "", "m1\\", "x" * 999):
        assert store.find(text) is None
        assert store.replay([text]) == 0
        assert store.skip([text], by="ann", reason="none") == 0
    assert store.replay(["m1", "m1 ", "m1"]) == 1


def test_an_odd_claim_token_proves_ownership(
    lasting_outbox: OutboxDatabase,  # noqa: F811
) -> None:
    lasting_outbox.clear()
    store = lasting_outbox.store()
    claims = []
    for token in ODD:
        reservation = Reservation(claim_token=token, grace=A_MINUTE)
        (stored,) = store.store([a_message(of=token)], reservation=reservation)
        assert stored.claim is not None
        claims.append(stored.claim)
    strangers = [
        attrs.evolve(one, claim_token=other.claim_token)
        for one, other in zip(claims, [*claims[1:], claims[0]], strict=True)
    ]

    assert store.mark_sent(delivered(*strangers)) == 0
    assert store.mark_sent(delivered(*claims)) == len(ODD)


_TEXTS = (
    " ".join(ODD),
    "",
    "a\0b",
    "half \ud800 and \udfff",
    "\0" * 5000,
    "".join(map(chr, range(1, 160))) * 40,
    "x" * 1_000_000,
    "\N{GRINNING FACE}" * 250_000,
    "'\"\\\n" * 250_000,
    "trailing ",
)


def _kept(text: str, length: int) -> str:
    """What is kept of a text: as much as fits, a mark in the place of what no column holds."""
    marked = "".join("\N{REPLACEMENT CHARACTER}" if c in "\0\ud800\udfff" else c for c in text)
    return marked[:length]


def _check_errors_and_receipts(database: OutboxDatabase) -> None:
    database.clear()
    store = database.store()
    store.store([a_message(f"m{n}", of=str(n)) for n in range(4 * len(_TEXTS))])
    claimed = {
        int(one.message.message_id[1:]): one
        for one in store.claim_pending(batch_size=4 * len(_TEXTS), lease=A_MINUTE)
    }
    for number, text in enumerate(_TEXTS):
        sent, tried, dead, skipped = (f"m{4 * number + step}" for step in range(4))
        in_hand = {name: claimed[int(name[1:])] for name in (sent, tried, dead, skipped)}

        assert store.mark_sent(delivered(in_hand[sent], receipt=text)) == 1
        assert store.retry_later(failed(in_hand[tried], error=text)) == 1
        assert store.mark_failed(failed(in_hand[dead], error=text)) == 1
        assert store.mark_failed(failed(in_hand[skipped], error=text)) == 1
        words = text if text.strip() else f"{text!r} is refused"
        assert store.skip([skipped], by=words[:50], reason=words) == 1

        assert row(store, sent).receipt == _kept(text, LONGEST_RECEIPT)
        assert row(store, tried).last_error == _kept(text, LONGEST_ERROR)
        assert row(store, dead).last_error == _kept(text, LONGEST_ERROR)
        note = f"skipped by {words[:50]}: {words}"[:LONGEST_ERROR]
        expected = f"{note} | {_kept(text, LONGEST_ERROR)}"
        assert row(store, skipped).last_error == _kept(expected, LONGEST_ERROR)


def test_no_error_or_receipt_stops_a_result_from_being_written(
    lasting_outbox: OutboxDatabase,  # noqa: F811
) -> None:
    _check_errors_and_receipts(lasting_outbox)


@pytest.mark.service("mariadb")
def test_a_lax_server_keeps_no_less_of_errors_and_receipts() -> None:
    with outbox_database(lax_mariadb_engine()) as database:
        _check_errors_and_receipts(database)
