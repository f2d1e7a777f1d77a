"""Contract of ``IOutboxStore``, the part about order: no message overtakes an older one."""

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


class OrderingContract(OutboxStoreBinding):
    """What is unsent, and not taken by the same call, hides its successors from every claim."""

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
