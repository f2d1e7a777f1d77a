"""Contract of ``IOutboxStore``, the part that claims: never twice, never overtaking."""

import datetime as dt
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.outbox_message import ClaimedMessage
from pragmatic_ddd.testing.messages import (
    A_MINUTE,
    a_message,
    a_reservation,
    delivered,
    failed,
    message_ids,
)
from pragmatic_ddd.testing.outbox_binding import OutboxStoreBinding, claim_all

_CLAIMERS = 4


class ClaimingContract(OutboxStoreBinding):
    """Two callers never hold the same message, and no message overtakes an older one."""

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

    def test_messages_of_one_aggregate_come_in_order(self, store: IOutboxStore) -> None:
        names = [f"m{number}" for number in range(30)]
        for name in names:
            store.store([a_message(name, of="hot"), a_message(of="other")])

        claimed = claim_all(store)

        assert len(claimed) == 60
        assert [name for name in message_ids(claimed) if name in names] == names

    def test_a_batch_takes_the_older_part_of_an_aggregate(self, store: IOutboxStore) -> None:
        store.store([a_message(f"m{number}") for number in range(5)])

        assert message_ids(store.claim_pending(batch_size=2, lease=A_MINUTE)) == ["m0", "m1"]

    def test_a_claimed_message_hides_its_successors(self, store: IOutboxStore) -> None:
        first, second = store.store([a_message("m1"), a_message("m2")])
        (claimed,) = store.claim([first.id], lease=A_MINUTE)

        assert claim_all(store) == []
        assert store.claim([second.id], lease=A_MINUTE) == []
        store.mark_sent(delivered(claimed))
        assert message_ids(claim_all(store)) == ["m2"]

    def test_what_is_confirmed_holds_back_no_successor(self, store: IOutboxStore) -> None:
        store.store([a_message(f"m{number}") for number in range(4)])
        first = store.claim_pending(batch_size=2, lease=A_MINUTE)

        second = store.claim_pending(
            batch_size=1, lease=A_MINUTE, confirmed_token=first[0].claim_token
        )

        assert message_ids(first) == ["m0", "m1"]
        assert message_ids(second) == ["m2"]
        assert claim_all(store) == []
        assert store.mark_sent(delivered(*first)) == 2
        assert claim_all(store) == []
        assert store.mark_sent(delivered(*second)) == 1
        assert message_ids(claim_all(store)) == ["m3"]

    def test_what_is_confirmed_frees_the_successors_of_nothing_else(
        self, store: IOutboxStore
    ) -> None:
        names = ("confirmed", "owned", "tried", "dead")
        ids = {
            name: store.store([a_message(name, of=name), a_message(of=name)])[0].id
            for name in names
        }
        (confirmed,) = store.claim([ids["confirmed"]], lease=A_MINUTE)
        store.claim([ids["owned"]], lease=A_MINUTE)
        store.retry_later(failed(*store.claim([ids["tried"]], lease=A_MINUTE), retry_in=A_MINUTE))
        store.mark_failed(failed(*store.claim([ids["dead"]], lease=A_MINUTE)))

        claimed = store.claim_pending(
            batch_size=10, lease=A_MINUTE, confirmed_token=confirmed.claim_token
        )

        assert {one.message.aggregate_id for one in claimed} == {"confirmed"}

    def test_what_is_confirmed_is_not_taken_again_though_its_lease_is_over(
        self, store: IOutboxStore
    ) -> None:
        store.store([a_message("m1"), a_message("m2")])
        (first,) = store.claim_pending(batch_size=1, lease=A_MINUTE)
        self.pass_time(store, 2 * A_MINUTE)

        claimed = store.claim_pending(
            batch_size=10, lease=A_MINUTE, confirmed_token=first.claim_token
        )

        assert message_ids(claimed) == ["m2"]
        assert message_ids(claim_all(store)) == ["m1"]

    def test_a_reserved_message_hides_its_successors(self, store: IOutboxStore) -> None:
        if not self.reserves:
            pytest.skip("no row is born owned here")
        (first,) = store.store([a_message("m1")], reservation=a_reservation())
        (second,) = store.store([a_message("m2", version=2)])

        assert claim_all(store) == []
        assert store.claim([second.id], lease=A_MINUTE) == []
        self.pass_time(store, A_MINUTE)
        assert [each.id for each in claim_all(store)] == [first.id]

    def test_a_message_waiting_for_its_retry_hides_its_successors(
        self, store: IOutboxStore
    ) -> None:
        first, second = store.store([a_message("m1"), a_message("m2")])
        store.retry_later(failed(*store.claim([first.id], lease=A_MINUTE), counted=False))

        assert claim_all(store) == []
        assert store.claim([second.id], lease=A_MINUTE) == []
        self.pass_time(store, A_MINUTE)
        assert message_ids(store.claim_pending(batch_size=1, lease=A_MINUTE)) == ["m1"]

    def test_a_message_that_failed_is_not_taken_together_with_its_successor(
        self, store: IOutboxStore
    ) -> None:
        store.store([a_message("m1"), a_message("m2"), a_message("m3", of="2")])
        first, second, third = claim_all(store)
        store.retry_later(failed(first))
        store.release([second])
        store.mark_sent(delivered(third))
        self.pass_time(store, A_MINUTE)

        (again,) = claim_all(store)

        assert again.message.message_id == "m1"
        assert claim_all(store) == []
        store.mark_sent(delivered(again))
        assert message_ids(claim_all(store)) == ["m2"]

    def test_what_failed_and_what_waits_behind_it_are_claimed_in_order(
        self, store: IOutboxStore
    ) -> None:
        stored = store.store([a_message(f"m{number}") for number in range(4)])
        first, *rest = store.claim([each.id for each in stored[:2]], lease=A_MINUTE)
        store.retry_later(failed(first))
        store.release(rest)
        self.pass_time(store, A_MINUTE)

        claimed: list[ClaimedMessage] = []
        while batch := store.claim_pending(batch_size=3, lease=A_MINUTE):
            claimed += batch
            store.mark_sent(delivered(*batch))
        assert message_ids(claimed) == ["m0", "m1", "m2", "m3"]

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

    def test_lapsed_leases_count_an_attempt_and_come_together(self, store: IOutboxStore) -> None:
        store.store([a_message("m1", of="1"), a_message("m2", of="2")])
        claim_all(store)
        self.pass_time(store, A_MINUTE)
        store.store([a_message("m3", of="3")])

        lapsed, new, none = [claim_all(store) for _ in range(3)]

        assert message_ids(lapsed) == ["m1", "m2"]
        assert [(each.taken_over, each.attempts) for each in lapsed] == [(True, 1), (True, 1)]
        assert message_ids(new) == ["m3"]
        assert (new[0].taken_over, new[0].attempts) == (False, 0)
        assert none == []

    def test_what_lapses_again_comes_alone(self, store: IOutboxStore) -> None:
        store.store([a_message(f"m{number}", of=str(number)) for number in range(3)])
        for _ in range(2):
            claim_all(store)
            self.pass_time(store, A_MINUTE)
        store.store([a_message("m3", of="3")])

        batches = [claim_all(store) for _ in range(5)]

        assert sorted(message_ids(batches[0] + batches[1] + batches[2])) == ["m0", "m1", "m2"]
        assert [[each.attempts for each in batch] for batch in batches[:3]] == [[2], [2], [2]]
        assert message_ids(batches[3]) == ["m3"]
        assert batches[4] == []

    def test_what_has_failed_before_it_lapses_comes_alone(self, store: IOutboxStore) -> None:
        store.store([a_message(f"m{number}", of=str(number)) for number in range(3)])
        store.retry_later(failed(claim_all(store)[1], retry_in=dt.timedelta()))
        claim_all(store)
        self.pass_time(store, A_MINUTE)

        batches = [claim_all(store) for _ in range(3)]

        assert sorted(message_ids(batch) for batch in batches) == [[], ["m0", "m2"], ["m1"]]

    def test_a_lapsed_message_goes_before_its_successors(self, store: IOutboxStore) -> None:
        store.store([a_message(f"m{number}") for number in range(4)])
        store.claim_pending(batch_size=2, lease=A_MINUTE)
        self.pass_time(store, A_MINUTE)

        claimed: list[list[str]] = []
        while batch := claim_all(store):
            claimed.append(message_ids(batch))
            store.mark_sent(delivered(*batch))
        assert claimed == [["m0"], ["m1"], ["m2", "m3"]]

    def test_a_lapsed_message_does_not_come_with_an_older_one_that_was_replayed(
        self, store: IOutboxStore
    ) -> None:
        store.store([a_message("m1")])
        store.mark_failed(failed(*claim_all(store)))
        store.skip(["m1"], by="Ada", reason="sent by hand")
        store.store([a_message("m2")])
        assert message_ids(claim_all(store)) == ["m2"]
        self.pass_time(store, 2 * A_MINUTE)
        store.replay(["m1"], out_of_order=True)

        claimed = store.claim_pending(batch_size=10, lease=A_MINUTE)
        assert message_ids(claimed) == ["m1"]
        store.mark_sent(delivered(*claimed))
        (lapsed,) = store.claim_pending(batch_size=10, lease=A_MINUTE)
        assert lapsed.message.message_id == "m2"
        assert lapsed.taken_over

    def test_a_message_that_kills_its_process_counts_up(self, store: IOutboxStore) -> None:
        store.store([a_message()])
        attempts = []
        for _ in range(3):
            attempts += [each.attempts for each in claim_all(store)]
            self.pass_time(store, A_MINUTE)

        assert attempts == [0, 1, 2]

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
