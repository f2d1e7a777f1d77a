"""Contract of ``IOutboxStore``, the part that records results: fenced, and not lost."""

import datetime as dt
from collections.abc import Callable

import pytest

from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.outbox_message import ClaimedMessage, OutboxStatus
from pragmatic_ddd.testing.messages import (
    A_MINUTE,
    a_message,
    delivered,
    failed,
    message_ids,
)
from pragmatic_ddd.testing.outbox_binding import OutboxStoreBinding, claim_all, row

Verb = Callable[[IOutboxStore, ClaimedMessage], int]

_VERBS: dict[str, Verb] = {
    "mark_sent": lambda store, claimed: store.mark_sent(delivered(claimed)),
    "release": lambda store, claimed: store.release([claimed]),
    "retry_later": lambda store, claimed: store.retry_later(failed(claimed)),
    "mark_failed": lambda store, claimed: store.mark_failed(failed(claimed)),
}
every_verb = pytest.mark.parametrize("verb", _VERBS.values(), ids=_VERBS.keys())


class SettlingContract(OutboxStoreBinding):
    """A result changes a row only for the claim that owns it."""

    def test_a_confirmed_message_is_sent(self, store: IOutboxStore) -> None:
        store.store([a_message("m1")])

        assert store.mark_sent(delivered(*claim_all(store), receipt="at 42")) == 1

        entry = row(store, "m1")
        assert (entry.status, entry.receipt) == (OutboxStatus.SENT, "at 42")
        assert entry.sent_at is not None
        assert entry.sent_at.utcoffset() == dt.timedelta()
        assert entry.sent_at >= entry.created_at
        self.pass_time(store, A_MINUTE)
        assert claim_all(store) == []

    def test_repeating_a_mark_changes_nothing(self, store: IOutboxStore) -> None:
        store.store([a_message("m1")])
        (claimed,) = claim_all(store)
        store.mark_sent(delivered(claimed, receipt="first"))
        before = row(store, "m1")

        assert store.mark_sent(delivered(claimed, receipt="second")) == 1

        assert row(store, "m1") == before

    @every_verb
    def test_a_stale_owner_changes_nothing(self, store: IOutboxStore, verb: Verb) -> None:
        store.store([a_message("m1")])
        (stale,) = claim_all(store)
        self.pass_time(store, A_MINUTE)
        (claimed,) = claim_all(store)
        before = row(store, "m1")

        assert verb(store, stale) == 0

        assert row(store, "m1") == before
        assert store.mark_sent(delivered(claimed)) == 1

    @every_verb
    def test_who_gave_a_message_back_changes_nothing(self, store: IOutboxStore, verb: Verb) -> None:
        store.store([a_message("m1")])
        (claimed,) = claim_all(store)
        store.release([claimed])
        before = row(store, "m1")

        assert verb(store, claimed) == 0

        assert row(store, "m1") == before

    @every_verb
    def test_a_sent_message_stays_sent(self, store: IOutboxStore, verb: Verb) -> None:
        store.store([a_message("m1")])
        (claimed,) = claim_all(store)
        store.mark_sent(delivered(claimed))
        before = row(store, "m1")

        verb(store, claimed)

        assert row(store, "m1") == before

    @every_verb
    def test_a_skipped_message_stays_skipped(self, store: IOutboxStore, verb: Verb) -> None:
        store.store([a_message("m1")])
        (claimed,) = claim_all(store)
        store.mark_failed(failed(claimed))
        store.skip(["m1"], by="me", reason="obsolete")
        before = row(store, "m1")

        assert verb(store, claimed) == 0

        assert row(store, "m1") == before

    @every_verb
    def test_an_owner_out_of_its_lease_may_settle_until_somebody_takes_over(
        self, store: IOutboxStore, verb: Verb
    ) -> None:
        store.store([a_message("m1")])
        (claimed,) = claim_all(store)
        self.pass_time(store, A_MINUTE)

        assert verb(store, claimed) == 1

    @every_verb
    def test_what_was_lost_does_not_keep_the_rest(self, store: IOutboxStore, verb: Verb) -> None:
        store.store([a_message("m1", of="1"), a_message("m2", of="2")])
        lost, kept = claim_all(store)
        store.release([lost])

        if verb is _VERBS["mark_sent"]:
            assert store.mark_sent(delivered(lost, kept)) == 1
        elif verb is _VERBS["release"]:
            assert store.release([lost, kept]) == 1
        elif verb is _VERBS["retry_later"]:
            assert store.retry_later(failed(lost, kept)) == 1
        else:
            assert store.mark_failed(failed(lost, kept)) == 1
        assert row(store, "m1").failures == 0

    def test_settling_nothing_is_nothing(self, store: IOutboxStore) -> None:
        assert store.mark_sent([]) == 0
        assert store.release([]) == 0
        assert store.retry_later([]) == 0
        assert store.mark_failed([]) == 0

    def test_messages_of_several_claims_are_settled_together(self, store: IOutboxStore) -> None:
        stored = store.store([a_message(of=str(number)) for number in range(5)])
        claimed = [each for message in stored for each in store.claim([message.id], lease=A_MINUTE)]

        assert store.mark_sent(delivered(*claimed)) == 5

    def test_a_released_message_is_due_at_once_and_untried(self, store: IOutboxStore) -> None:
        store.store([a_message("m1")])

        assert store.release(claim_all(store)) == 1

        entry = row(store, "m1")
        assert (entry.status, entry.attempts, entry.failures) == (OutboxStatus.PENDING, 0, 0)
        assert message_ids(claim_all(store)) == ["m1"]

    @pytest.mark.parametrize("counted", [True, False])
    def test_a_failed_message_is_due_after_its_pause(
        self, store: IOutboxStore, *, counted: bool
    ) -> None:
        store.store([a_message("m1")])

        assert store.retry_later(failed(*claim_all(store), error="no route", counted=counted)) == 1

        entry = row(store, "m1")
        assert (entry.status, entry.last_error) == (OutboxStatus.PENDING, "no route")
        assert (entry.attempts, entry.failures) == (int(counted), 1)
        self.pass_time(store, dt.timedelta(seconds=59))
        assert claim_all(store) == []
        self.pass_time(store, dt.timedelta(seconds=1))
        (claimed,) = claim_all(store)
        assert (claimed.attempts, claimed.failures) == (int(counted), 1)
        assert not claimed.taken_over

    def test_a_dead_letter_keeps_its_error_and_is_not_claimed(self, store: IOutboxStore) -> None:
        store.store([a_message("m1")])

        assert store.mark_failed(failed(*claim_all(store), error="too large")) == 1

        entry = row(store, "m1")
        assert (entry.status, entry.last_error) == (OutboxStatus.FAILED, "too large")
        assert (entry.attempts, entry.failures) == (1, 1)
        self.pass_time(store, dt.timedelta(days=1))
        assert claim_all(store) == []

    def test_a_dead_letter_blocks_its_own_aggregate_only(self, store: IOutboxStore) -> None:
        first, second, _ = store.store([a_message("m1"), a_message("m2"), a_message("m3", of="2")])
        store.mark_failed(failed(*store.claim([first.id], lease=A_MINUTE)))

        assert message_ids(claim_all(store)) == ["m3"]
        self.pass_time(store, dt.timedelta(days=1))
        assert message_ids(claim_all(store)) == ["m3"]
        assert store.claim([second.id], lease=A_MINUTE) == []

    @pytest.mark.parametrize(
        "error", ["x" * 1_000_000, "a\0b\ud800c", "😀" * 300_000, "\0" * 10_000]
    )
    def test_no_error_text_keeps_a_result_from_being_recorded(
        self, store: IOutboxStore, error: str
    ) -> None:
        store.store([a_message("m1", of="1"), a_message("m2", of="2")])
        later, dead = claim_all(store)

        assert store.retry_later(failed(later, error=error)) == 1
        assert store.mark_failed(failed(dead, error=error)) == 1

        for name in ("m1", "m2"):
            text = row(store, name).last_error
            assert text is not None
            assert text[0] == error[0] or error[0] == "\0"

    def test_no_receipt_keeps_a_message_from_being_marked(self, store: IOutboxStore) -> None:
        store.store([a_message("m1")])

        assert store.mark_sent(delivered(*claim_all(store), receipt="r\0\ud800" + "x" * 9999)) == 1

        receipt = row(store, "m1").receipt
        assert receipt is not None
        assert receipt.startswith("r")
        assert len(receipt) <= 500
