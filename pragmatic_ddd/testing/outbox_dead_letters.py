"""Contract of ``IOutboxStore``, the part about dead letters: listed, replayed, skipped."""

from typing import Any

import pytest

from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.outbox_message import OutboxStatus
from pragmatic_ddd.testing.messages import A_MINUTE, a_message, delivered, failed, message_ids
from pragmatic_ddd.testing.outbox_binding import OutboxStoreBinding, claim_all, row


class DeadLetterContract(OutboxStoreBinding):
    """A person finds dead letters, and decides whether they are sent again or never."""

    def test_dead_letters_are_listed_page_by_page(self, store: IOutboxStore) -> None:
        stored = store.store([a_message(of=str(number)) for number in range(5)])
        store.mark_failed(failed(*claim_all(store)))
        ids = [each.id for each in stored]

        assert [each.id for each in store.list_failed()] == ids
        assert [each.id for each in store.list_failed(limit=2)] == ids[:2]
        assert [each.id for each in store.list_failed(limit=2, after_id=ids[1])] == ids[2:4]
        assert store.list_failed(after_id=ids[4]) == []

    def test_a_replayed_message_is_due_and_has_no_attempts(self, store: IOutboxStore) -> None:
        store.store([a_message("m1")])
        store.mark_failed(failed(*claim_all(store)))

        assert store.replay(["m1", "unknown", "m1"]) == 1

        (claimed,) = claim_all(store)
        assert (claimed.attempts, claimed.failures, claimed.taken_over) == (0, 0, False)
        assert store.replay(["m1"]) == 0
        assert store.list_failed() == []

    def test_what_a_dead_letter_blocked_follows_it_in_order(self, store: IOutboxStore) -> None:
        stored = store.store([a_message(f"m{number}") for number in range(5)])
        store.mark_failed(failed(*store.claim([stored[0].id], lease=A_MINUTE)))
        store.store([a_message("m5", version=2)])
        store.tidy()

        assert store.replay(["m0"]) == 1

        assert message_ids(claim_all(store)) == [f"m{number}" for number in range(6)]

    def test_a_skipped_message_no_longer_blocks(self, store: IOutboxStore) -> None:
        stored = store.store([a_message(f"m{number}") for number in range(3)])
        store.mark_failed(failed(*store.claim([stored[0].id], lease=A_MINUTE), error="too large"))
        store.store([a_message("m3", version=2)])
        store.tidy()

        assert store.skip(["m0", "m1", "unknown"], by="Ada", reason="sent by hand") == 1

        entry = row(store, "m0")
        assert entry.status is OutboxStatus.SKIPPED
        assert entry.sent_at is not None
        assert entry.last_error is not None
        for part in ("Ada", "sent by hand", "too large"):
            assert part in entry.last_error
        assert message_ids(claim_all(store)) == ["m1", "m2", "m3"]

    def test_a_skipped_message_is_replayed_only_out_of_order(self, store: IOutboxStore) -> None:
        store.store([a_message("m1")])
        store.mark_failed(failed(*claim_all(store)))
        store.skip(["m1"], by="Ada\0", reason="x" * 100_000)

        assert store.replay(["m1"]) == 0
        assert claim_all(store) == []
        assert store.replay(["m1"], out_of_order=True) == 1
        assert row(store, "m1").sent_at is None
        assert message_ids(claim_all(store)) == ["m1"]

    def test_only_dead_letters_are_replayed_and_skipped(self, store: IOutboxStore) -> None:
        store.store([a_message(f"m{number}", of=str(number)) for number in range(3)])
        sent, *_ = store.claim_pending(batch_size=2, lease=A_MINUTE)
        store.mark_sent(delivered(sent))
        names = ["m0", "m1", "m2", "nul\0", "half\ud800"]
        before = [row(store, name) for name in names[:3]]

        assert store.replay(names, out_of_order=True) == 0
        assert store.skip(names, by="me", reason="none") == 0
        assert store.replay([]) == store.skip([], by="me", reason="none") == 0

        assert [row(store, name) for name in names[:3]] == before

    def test_one_text_is_not_taken_for_many_ids(self, store: IOutboxStore) -> None:
        store.store([a_message("m")])
        store.mark_failed(failed(*claim_all(store)))

        with pytest.raises(TypeError, match="message_ids = 'm': give a list"):
            store.replay("m")
        with pytest.raises(TypeError, match="message_ids = 'm': give a list"):
            store.skip("m", by="me", reason="obsolete")

        assert row(store, "m").status is OutboxStatus.FAILED

    def test_ids_that_are_no_text_are_refused(self, store: IOutboxStore) -> None:
        store.store([a_message("m")])
        store.mark_failed(failed(*claim_all(store)))
        ids: Any = ["m", 1]

        with pytest.raises(TypeError, match=r"message_ids\[1\] = 1: give a str"):
            store.replay(ids)
        with pytest.raises(TypeError, match=r"message_ids\[1\] = 1: give a str"):
            store.skip(ids, by="me", reason="obsolete")
        with pytest.raises(TypeError, match="message_id = 1: give a str"):
            store.find(ids[1])

        assert row(store, "m").status is OutboxStatus.FAILED

    def test_who_skips_says_so_and_why(self, store: IOutboxStore) -> None:
        store.store([a_message("m")])
        store.mark_failed(failed(*claim_all(store)))
        nobody: Any = None

        with pytest.raises(ValueError, match="by = '': say it"):
            store.skip(["m"], by="", reason="obsolete")
        with pytest.raises(ValueError, match=r"reason = ' .*': say it"):
            store.skip(["m"], by="me", reason=" \n")
        with pytest.raises(TypeError, match="by = None: give a str"):
            store.skip(["m"], by=nobody, reason="obsolete")
        with pytest.raises(ValueError, match="reason = '': say it"):
            store.skip([], by="me", reason="")

        assert row(store, "m").status is OutboxStatus.FAILED

    def test_a_list_of_no_dead_letters_is_not_asked_for(self, store: IOutboxStore) -> None:
        store.store([a_message("m")])
        store.mark_failed(failed(*claim_all(store)))
        text: Any = "5"

        for too_small in (0, -1):
            with pytest.raises(ValueError, match=f"limit = {too_small}: at least 1"):
                store.list_failed(limit=too_small)
        with pytest.raises(TypeError, match="limit = '5': give an int"):
            store.list_failed(limit=text)
        with pytest.raises(TypeError, match="after_id = '5': give an int"):
            store.list_failed(after_id=text)
