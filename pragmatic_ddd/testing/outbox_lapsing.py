"""Contract of ``IOutboxStore``, the part about leases that nobody has ended."""

import datetime as dt

from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.testing.messages import (
    A_MINUTE,
    a_message,
    delivered,
    failed,
    message_ids,
)
from pragmatic_ddd.testing.outbox_binding import OutboxStoreBinding, claim_all


class LapsingContract(OutboxStoreBinding):
    """How every outbox store hands out what a former holder has let lapse."""

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
