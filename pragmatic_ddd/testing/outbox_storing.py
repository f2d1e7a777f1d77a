"""Contract of ``IOutboxStore``, the part that stores."""

import time

import pytest

from pragmatic_ddd.errors import OutboxStoreError
from pragmatic_ddd.ports.outbox import IOutboxStore
from pragmatic_ddd.ports.outbox_message import OutboxStatus
from pragmatic_ddd.testing.messages import A_MINUTE, a_message, a_reservation, delivered
from pragmatic_ddd.testing.outbox_binding import OutboxStoreBinding, claim_all, row

_SURROGATES = range(0xD800, 0xE000)
_SAMPLE = [
    *range(0x20, 0x3000),
    *range(0xD000, 0xE100),
    *range(0xFFF0, 0x10010),
    0x1F600,
    0x20000,
    0x2FFFF,
    0x10FFFF,
]
_AWKWARD_PAYLOADS = (
    '{"b":1,"a":1.10,"a":2}',
    " [1 , 2]\n",
    r'"\u0000 \ud800 \\ \" \/ \n %s %(x)s %% :name ? $1 {outbox}"',
    "\"'' `` -- /* ; \t \u2028 \N{BYTE ORDER MARK}\"",
)


class CallerError(Exception):
    """Something went wrong in the caller's transaction."""


class StoringContract(OutboxStoreBinding):
    """Storing takes part in the caller's transaction and changes nothing of a message."""

    def test_messages_are_stored_in_the_given_order(self, store: IOutboxStore) -> None:
        messages = [a_message(f"m{number}", of=str(number % 3)) for number in range(20)]

        stored = store.store(messages)

        assert [each.message for each in stored] == messages
        ids = [each.id for each in stored]
        assert ids == sorted(set(ids))

    def test_nothing_stored_is_nothing_returned(self, store: IOutboxStore) -> None:
        assert store.store([]) == []
        assert store.store([], reservation=a_reservation()) == []

    def test_every_field_comes_back(self, store: IOutboxStore) -> None:
        message = a_message(of="A/1 ä", version=2**40, headers={"traceparent": "00-1", "x": "ü😀"})
        store.store([message])

        (claimed,) = claim_all(store)
        assert claimed.message == message
        assert row(store, message.message_id).message == message

    def test_the_bytes_of_the_payload_come_back(self, store: IOutboxStore) -> None:
        for number, text in enumerate(_AWKWARD_PAYLOADS):
            store.store([a_message(f"m{number}", of=str(number), payload=text.encode())])

            assert row(store, f"m{number}").message.payload == text.encode()

    def test_every_unicode_character_comes_back(self, store: IOutboxStore) -> None:
        text = "".join(chr(code) for code in _SAMPLE if code not in _SURROGATES)
        store.store([a_message("m1", payload=text.encode())])

        assert row(store, "m1").message.payload.decode() == text

    @pytest.mark.parametrize("size", [65_535, 65_536, 1_000_000])
    def test_a_large_payload_comes_back_whole(self, store: IOutboxStore, size: int) -> None:
        payload = ("😀" * (size // 4) + "x" * (size % 4)).encode()
        store.store([a_message("m1", payload=payload)])

        assert row(store, "m1").message.payload == payload

    def test_a_message_is_stored_once(self, store: IOutboxStore) -> None:
        store.store([a_message("m1", of="1")])

        with pytest.raises(OutboxStoreError):
            store.store([a_message("m2", of="2"), a_message("m1", of="3")])

        assert store.find("m2") is None
        assert row(store, "m1").message.aggregate_id == "1"

    def test_storing_joins_the_callers_transaction(self, store: IOutboxStore) -> None:
        transactions = self.transactions(store)

        def work() -> None:
            store.store([a_message("m1", of="1")])
            store.store([a_message("m2", of="2")])

        transactions.execute(work)

        assert row(store, "m1").status == row(store, "m2").status == OutboxStatus.PENDING

    def test_a_rolled_back_transaction_has_stored_nothing(self, store: IOutboxStore) -> None:
        transactions = self.transactions(store)

        def work() -> None:
            store.store([a_message("m1")], reservation=a_reservation())
            raise CallerError

        with pytest.raises(CallerError):
            transactions.execute(work)

        assert store.find("m1") is None
        assert claim_all(store) == []
        store.store([a_message("m1")])

    def test_a_joined_transaction_that_failed_cannot_commit(self, store: IOutboxStore) -> None:
        transactions = self.transactions(store)

        def inner() -> None:
            raise CallerError

        def outer() -> None:
            store.store([a_message("m1")])
            with pytest.raises(CallerError):
                transactions.execute(inner)

        with pytest.raises(Exception, match="rolled back"):
            transactions.execute(outer)

        assert store.find("m1") is None

    def test_a_row_without_a_reservation_has_no_owner_and_is_due(self, store: IOutboxStore) -> None:
        (stored,) = store.store([a_message("m1")])

        assert stored.claim is None
        assert [each.id for each in claim_all(store)] == [stored.id]

    def test_a_reserved_row_is_born_owned(self, store: IOutboxStore) -> None:
        self._needs_reservations()
        reservation = a_reservation()
        before = time.monotonic()

        first, second = store.store([a_message("m1"), a_message("m2")], reservation=reservation)

        assert first.claim is not None
        assert second.claim is not None
        assert (first.claim.id, first.claim.claim_token) == (first.id, reservation.claim_token)
        assert before + 60 <= first.claim.deadline <= time.monotonic() + 60
        assert (first.claim.attempts, first.claim.taken_over) == (0, False)
        assert claim_all(store) == []
        assert store.claim([first.id, second.id], lease=A_MINUTE) == []
        assert store.mark_sent(delivered(first.claim, second.claim)) == 2

    def test_a_row_without_a_version_has_no_owner(self, store: IOutboxStore) -> None:
        (stored,) = store.store([a_message(version=None)], reservation=a_reservation())

        assert stored.claim is None

    def test_a_row_behind_an_unsent_one_has_no_owner(self, store: IOutboxStore) -> None:
        self._needs_reservations()
        (first,) = store.store([a_message("m1", version=1)], reservation=a_reservation())
        (second, other) = store.store(
            [a_message("m2", version=2), a_message("m3", of="2")], reservation=a_reservation()
        )

        assert first.claim is not None
        assert second.claim is None
        assert other.claim is not None
        store.mark_sent(delivered(first.claim))
        assert [each.id for each in store.claim([second.id], lease=A_MINUTE)] == [second.id]

    def test_a_row_behind_a_sent_one_is_born_owned(self, store: IOutboxStore) -> None:
        self._needs_reservations()
        (first,) = store.store([a_message("m1")], reservation=a_reservation())
        assert first.claim is not None
        store.mark_sent(delivered(first.claim))

        (second,) = store.store([a_message("m2", version=2)], reservation=a_reservation())

        assert second.claim is not None

    def test_a_transaction_may_own_what_it_stores_in_several_calls(
        self, store: IOutboxStore
    ) -> None:
        self._needs_reservations()
        reservation = a_reservation()

        def work() -> list[bool]:
            return [
                stored.claim is not None
                for name in ("m1", "m2")
                for stored in store.store([a_message(name)], reservation=reservation)
            ]

        assert self.transactions(store).execute(work) == [True, True]

    def test_nothing_is_owned_behind_a_row_without_owner_of_the_same_call(
        self, store: IOutboxStore
    ) -> None:
        stored = store.store(
            [a_message("m1", version=None), a_message("m2", version=2)],
            reservation=a_reservation(),
        )

        assert [each.claim for each in stored] == [None, None]

    def test_a_reserved_row_is_anyones_when_its_grace_is_over(self, store: IOutboxStore) -> None:
        self._needs_reservations()
        (stored,) = store.store([a_message("m1")], reservation=a_reservation())
        assert stored.claim is not None
        self.pass_time(store, A_MINUTE)

        (taken,) = claim_all(store)

        assert (taken.id, taken.attempts, taken.taken_over) == (stored.id, 1, True)
        assert store.mark_sent(delivered(stored.claim)) == 0

    def _needs_reservations(self) -> None:
        if not self.reserves:
            pytest.skip("no row is born owned here")
