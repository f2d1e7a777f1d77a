"""Contract of ``IOutboxStore``, the part for operators: backlog and retention."""

import datetime as dt
from typing import Any

import pytest

from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.outbox_message import Backlog, OutboxStatus
from pragmatic_ddd.testing.messages import (
    A_MINUTE,
    a_message,
    a_reservation,
    delivered,
    failed,
)
from pragmatic_ddd.testing.outbox_binding import OutboxStoreBinding, claim_all, row

_DAY = dt.timedelta(days=1)
_TOLERANCE = dt.timedelta(seconds=20)
_ROUNDING = dt.timedelta(milliseconds=1)  # of databases that compute with floating point


class OperatingContract(OutboxStoreBinding):
    """What waits is known, and the table stays small."""

    def test_an_empty_store_has_no_backlog(self, store: IOutboxStore) -> None:
        assert store.backlog() == Backlog(
            pending=0, processing=0, failed=0, oldest_unsent_age=dt.timedelta()
        )
        assert store.next_due_in() is None
        assert store.list_failed() == []
        assert store.find("m1") is None
        assert store.tidy() == 0

    def test_the_backlog_counts_what_is_not_yet_sent(self, store: IOutboxStore) -> None:
        store.store([a_message(of=str(number)) for number in range(6)])
        sent, dead, *_ = store.claim_pending(batch_size=4, lease=A_MINUTE)
        store.mark_sent(delivered(sent))
        store.mark_failed(failed(dead))
        self.pass_time(store, dt.timedelta(hours=2))
        store.store([a_message("young", of="young")])

        backlog = store.backlog()

        assert (backlog.pending, backlog.processing, backlog.failed) == (3, 2, 1)
        age = backlog.oldest_unsent_age
        assert dt.timedelta(hours=2) <= age < dt.timedelta(hours=2) + _TOLERANCE

    def test_a_dead_letter_does_not_make_the_backlog_old(self, store: IOutboxStore) -> None:
        store.store([a_message()])
        store.mark_failed(failed(*claim_all(store)))
        self.pass_time(store, _DAY)

        assert store.backlog().oldest_unsent_age == dt.timedelta()

    def test_the_next_due_time_is_the_first_that_is_yet_to_come(self, store: IOutboxStore) -> None:
        store.store([a_message(of="1"), a_message(of="2"), a_message(of="3")])
        assert store.next_due_in() is None
        first, second, _ = claim_all(store, lease=dt.timedelta(minutes=3))
        store.retry_later(failed(first, retry_in=dt.timedelta(minutes=2)))
        store.retry_later(failed(second, retry_in=dt.timedelta(minutes=1)))

        due_in = store.next_due_in()

        assert due_in is not None
        assert A_MINUTE - _TOLERANCE < due_in <= A_MINUTE + _ROUNDING

    def test_a_reserved_row_is_due_when_its_grace_is_over(self, store: IOutboxStore) -> None:
        (stored,) = store.store([a_message()], reservation=a_reservation())

        due_in = store.next_due_in()

        if stored.claim is None:
            assert due_in is None
        else:
            assert due_in is not None
            assert A_MINUTE - _TOLERANCE < due_in <= A_MINUTE + _ROUNDING

    def test_a_purge_of_nothing_is_not_asked_for(self, store: IOutboxStore) -> None:
        store.store([a_message("m")])
        store.mark_sent(delivered(*claim_all(store)))
        number: Any = 7

        with pytest.raises(ValueError, match="batch_size = 0: at least 1"):
            store.purge(older_than=dt.timedelta(), batch_size=0)
        with pytest.raises(TypeError, match="older_than = 7: give a timedelta"):
            store.purge(older_than=number)

        assert row(store, "m").status is OutboxStatus.SENT

    def test_what_ended_long_ago_is_purged(self, store: IOutboxStore) -> None:
        store.store([a_message(f"m{number}", of=str(number)) for number in range(5)])
        sent, skipped, dead, processing = store.claim_pending(batch_size=4, lease=A_MINUTE)
        store.mark_sent(delivered(sent))
        store.mark_failed(failed(skipped, dead))
        store.skip([skipped.message.message_id], by="me", reason="obsolete")
        assert store.purge(older_than=_DAY) == 0
        self.pass_time(store, _DAY)

        assert store.purge(older_than=_DAY) == 2

        assert store.find(sent.message.message_id) is None
        assert store.find(skipped.message.message_id) is None
        assert row(store, dead.message.message_id).status is OutboxStatus.FAILED
        assert row(store, processing.message.message_id).status is OutboxStatus.PROCESSING
        assert store.purge(older_than=_DAY) == 0

    def test_a_purge_deletes_one_batch(self, store: IOutboxStore) -> None:
        store.store([a_message(of=str(number)) for number in range(7)])
        store.mark_sent(delivered(*claim_all(store)))
        self.pass_time(store, _DAY)

        purged = [store.purge(older_than=_DAY, batch_size=3) for _ in range(4)]

        assert purged == [3, 3, 1, 0]

    def test_an_id_is_not_given_twice(self, store: IOutboxStore) -> None:
        (first,) = store.store([a_message()])
        store.mark_sent(delivered(*claim_all(store)))
        store.purge(older_than=dt.timedelta())

        (second,) = store.store([a_message()])

        assert second.id > first.id
