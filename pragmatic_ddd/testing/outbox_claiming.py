"""Contract of ``IOutboxStore``, the part that claims: never twice."""

import datetime as dt
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.testing.messages import (
    A_MINUTE,
    a_message,
    delivered,
    failed,
    message_ids,
)
from pragmatic_ddd.testing.outbox_binding import OutboxStoreBinding, claim_all

_CLAIMERS = 4


class ClaimingContract(OutboxStoreBinding):
    """Two callers never hold the same message, however many there are."""

    def test_nothing_is_claimed_from_an_empty_store(self, store: IOutboxStore) -> None:
        assert claim_all(store) == []
        assert store.claim([], lease=A_MINUTE) == []
        assert store.claim([1, 2**40], lease=A_MINUTE) == []

    def test_the_oldest_due_is_claimed_first(self, store: IOutboxStore) -> None:
        for name in ("m1", "m2", "m3"):
            store.store([a_message(name, of=name)])
            self.pass_time(store, dt.timedelta(seconds=1))

        assert message_ids(store.claim_pending(batch_size=2, lease=A_MINUTE)) == ["m1", "m2"]
        assert message_ids(store.claim_pending(batch_size=2, lease=A_MINUTE)) == ["m3"]

    def test_a_claimed_message_is_not_claimed_again(self, store: IOutboxStore) -> None:
        (stored,) = store.store([a_message()])
        claim_all(store)

        assert claim_all(store) == []
        assert store.claim([stored.id], lease=A_MINUTE) == []

    def test_unclaimed_is_what_a_claim_might_still_take(self, store: IOutboxStore) -> None:
        waiting, taken, sent, tried, dead = stored = store.store(
            [a_message(name, of=name) for name in ("waiting", "taken", "sent", "tried", "dead")]
        )
        ids = [each.id for each in stored]
        claims = {each.id: each for each in store.claim(ids[1:], lease=A_MINUTE)}
        store.mark_sent(delivered(claims[sent.id]))
        store.retry_later(failed(claims[tried.id]))
        store.mark_failed(failed(claims[dead.id]))
        (hidden,) = store.store([a_message("hidden", of="taken", version=2)])

        asked = [*ids, hidden.id, 2**40]
        assert store.unclaimed(asked) == {waiting.id, hidden.id}
        assert store.unclaimed([]) == set()
        store.release([claims[taken.id]])
        assert store.unclaimed(asked) == {waiting.id, taken.id, hidden.id}

    def test_a_claim_lasts_as_long_as_its_lease(self, store: IOutboxStore) -> None:
        store.store([a_message()])
        before = time.monotonic()

        (claimed,) = claim_all(store, lease=dt.timedelta(seconds=30))

        assert before + 30 <= claimed.deadline <= time.monotonic() + 30
        self.pass_time(store, dt.timedelta(seconds=29))
        assert claim_all(store) == []
        self.pass_time(store, dt.timedelta(seconds=1))
        assert [each.id for each in claim_all(store)] == [claimed.id]

    def test_each_claim_has_a_token_of_its_own(self, store: IOutboxStore) -> None:
        stored = store.store([a_message(of="1"), a_message(of="2")])

        tokens = {
            claimed.claim_token
            for each in stored
            for claimed in store.claim([each.id], lease=A_MINUTE)
        }

        assert len(tokens) == 2

    def test_messages_are_claimed_by_id_with_all_older_ones_or_not_at_all(
        self, store: IOutboxStore
    ) -> None:
        first, second, third = store.store([a_message(name) for name in ("m1", "m2", "m3")])

        assert store.claim([second.id, third.id], lease=A_MINUTE) == []
        claimed = store.claim([third.id, first.id], lease=A_MINUTE)
        assert message_ids(claimed) == ["m1"]

    def test_what_has_failed_or_ended_is_not_claimed_by_id(self, store: IOutboxStore) -> None:
        stored = store.store([a_message(of=str(number)) for number in range(4)])
        sent, dead, skipped, tried = claim_all(store)
        store.mark_sent(delivered(sent))
        store.mark_failed(failed(dead, skipped))
        store.skip([skipped.message.message_id], by="me", reason="obsolete")
        store.retry_later(failed(tried, retry_in=dt.timedelta()))

        assert store.claim([each.id for each in stored], lease=A_MINUTE) == []

    def test_what_was_given_back_is_claimed_by_id(self, store: IOutboxStore) -> None:
        (stored,) = store.store([a_message()])
        store.release(claim_all(store))

        assert len(store.claim([stored.id, stored.id], lease=A_MINUTE)) == 1

    def test_two_claimers_never_share_a_message(self, store: IOutboxStore) -> None:
        self._needs_concurrency()
        stored = store.store([a_message(of=str(number)) for number in range(300)])

        def claim_until_empty() -> list[int]:
            claimed: list[int] = []
            while batch := store.claim_pending(batch_size=7, lease=A_MINUTE):
                claimed += [each.id for each in batch]
            return claimed

        claimed = _in_threads(claim_until_empty)

        assert len(claimed) == len(set(claimed))
        rest = [each.id for each in claim_all(store)]
        assert sorted(claimed + rest) == [each.id for each in stored]

    def test_concurrent_claimers_overtake_nothing(self, store: IOutboxStore) -> None:
        self._needs_concurrency()
        expected = {str(key): [f"{key}-{number}" for number in range(40)] for key in range(5)}
        for number in range(40):
            store.store([a_message(f"{key}-{number}", of=key) for key in expected])
        sent: dict[str, list[str]] = {key: [] for key in expected}
        deadline = time.monotonic() + 30
        lock = threading.Lock()

        def relay() -> list[int]:
            while time.monotonic() < deadline and sum(map(len, sent.values())) < 200:
                batch = store.claim_pending(batch_size=9, lease=A_MINUTE)
                for each in batch:
                    with lock:
                        sent[each.message.aggregate_id].append(each.message.message_id)
                store.mark_sent(delivered(*batch))
            return []

        _in_threads(relay)

        assert sent == expected

    def _needs_concurrency(self) -> None:
        if not self.claims_concurrently:
            pytest.skip("this store has one claimer at a time")


def _in_threads(work: Callable[[], list[int]]) -> list[int]:
    with ThreadPoolExecutor(_CLAIMERS) as pool:
        futures = [pool.submit(work) for _ in range(_CLAIMERS)]
        return [result for future in futures for result in future.result()]
