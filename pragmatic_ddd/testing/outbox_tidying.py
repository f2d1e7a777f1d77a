"""Contract of ``IOutboxStore``, the part about tidying: parked rows, clocks that step back."""

import datetime as dt

from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.testing.messages import (
    A_MINUTE,
    a_message,
    a_reservation,
    delivered,
    failed,
    message_ids,
)
from pragmatic_ddd.testing.outbox_binding import OutboxStoreBinding, claim_all, row

_DAY = dt.timedelta(days=1)
_HALF_AN_HOUR = dt.timedelta(minutes=30)
_TOLERANCE = dt.timedelta(seconds=20)


class TidyingContract(OutboxStoreBinding):
    """What every outbox store moves out of the way, and what it brings back."""

    def test_newcomers_behind_a_dead_letter_are_parked(self, store: IOutboxStore) -> None:
        store.store([a_message("m1")])
        store.mark_failed(failed(*claim_all(store)))
        store.store([a_message("m2", version=2), a_message("m3", of="2")])

        assert store.tidy() == 1
        assert store.tidy() == 0
        assert message_ids(claim_all(store)) == ["m3"]
        entry = row(store, "m2")
        assert entry.due_at <= entry.created_at + dt.timedelta(hours=1) + _TOLERANCE

    def test_a_clock_that_steps_back_strands_nothing(self, store: IOutboxStore) -> None:
        stored = store.store([a_message("m1"), a_message("m2"), a_message("m3", of="2")])
        (owned,) = store.claim([stored[2].id], lease=A_MINUTE)
        self.pass_time(store, -_DAY)
        assert store.backlog().oldest_unsent_age == dt.timedelta()
        assert claim_all(store) == []

        assert store.tidy() == 3

        assert message_ids(claim_all(store)) == ["m1", "m2"]
        self.pass_time(store, A_MINUTE)
        taken = [each for _ in range(3) for each in claim_all(store) if each.id == owned.id]
        assert len(taken) == 1

    def test_a_clock_that_steps_back_a_little_strands_nothing_either(
        self, store: IOutboxStore
    ) -> None:
        store.store([a_message("new"), a_message("next")])
        (tried,) = store.claim([store.store([a_message("tried", of="2")])[0].id], lease=A_MINUTE)
        store.retry_later(failed(tried))
        (owned,) = store.claim([store.store([a_message("owned", of="3")])[0].id], lease=A_MINUTE)
        self.pass_time(store, -_HALF_AN_HOUR)

        assert store.tidy() == 4
        assert store.tidy() == 0

        assert sorted(message_ids(claim_all(store))) == ["new", "next", "tried"]
        assert store.mark_sent(delivered(owned)) == 1

    def test_the_owner_of_a_row_keeps_its_lease_though_the_clock_steps_back_a_little(
        self, store: IOutboxStore
    ) -> None:
        store.store([a_message(of="1")], reservation=a_reservation())
        store.store([a_message(of="2")])
        claim_all(store)
        self.pass_time(store, -_HALF_AN_HOUR)
        store.tidy()

        self.pass_time(store, A_MINUTE - _TOLERANCE)
        assert claim_all(store) == []
        self.pass_time(store, _TOLERANCE)
        taken = [each.message.aggregate_id for _ in range(3) for each in claim_all(store)]
        assert sorted(taken) == ["1", "2"]

    def test_what_waits_grows_old_again_after_a_clock_that_stepped_back(
        self, store: IOutboxStore
    ) -> None:
        store.store([a_message()])
        self.pass_time(store, -_HALF_AN_HOUR)
        assert store.backlog().oldest_unsent_age == dt.timedelta()
        store.tidy()

        self.pass_time(store, A_MINUTE)

        assert A_MINUTE <= store.backlog().oldest_unsent_age < A_MINUTE + _TOLERANCE

    def test_what_is_parked_or_waits_for_its_retry_stays_where_it_is(
        self, store: IOutboxStore
    ) -> None:
        store.store([a_message("dead"), a_message("tried", of="2")])
        dead, tried = claim_all(store)
        store.mark_failed(failed(dead))
        store.retry_later(failed(tried))
        store.store([a_message("parked")])
        assert store.tidy() == 1
        before = [row(store, name) for name in ("parked", "tried")]

        assert store.tidy() == 0
        assert [row(store, name) for name in ("parked", "tried")] == before

    def test_a_retry_put_off_by_a_clock_that_was_a_day_ahead_is_due_again(
        self, store: IOutboxStore
    ) -> None:
        store.store([a_message("tried")])
        (claimed,) = claim_all(store)
        self.pass_time(store, _DAY)
        store.retry_later(failed(claimed))
        self.pass_time(store, -_DAY)
        assert claim_all(store) == []

        assert store.tidy() == 1

        assert message_ids(claim_all(store)) == ["tried"]

    def test_a_live_lease_survives_a_clock_that_steps_back(self, store: IOutboxStore) -> None:
        store.store([a_message()])
        (claimed,) = claim_all(store)
        self.pass_time(store, -_DAY)
        store.tidy()

        assert claim_all(store) == []
        assert store.mark_sent(delivered(claimed)) == 1
