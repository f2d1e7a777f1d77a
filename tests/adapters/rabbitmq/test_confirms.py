"""What the broker says of messages under way."""

import math

import pytest

from pragmatic_ddd_rabbitmq import confirms as confirms_module
from pragmatic_ddd_rabbitmq.confirms import Call, Confirmation, Confirms, Publication
from pragmatic_ddd_rabbitmq.errors import NotConfirmedError, UndeliverableError
from tests.adapters.rabbitmq.shop import a_message


def _sent(confirms: Confirms, count: int, *, call: Call | None = None) -> list[Publication]:
    publications = [_publication(f"event-{each}") for each in range(count)]
    for publication in publications:
        confirms.sent(publication)
        (call or Call()).take(publication)
    return publications


def _publication(message_id: str) -> Publication:
    message = a_message(message_id=message_id)
    return Publication(message, message.identity)


def test_each_message_has_its_own_confirmation() -> None:
    confirms = Confirms("shop 1")
    first, second = _sent(confirms, 2)

    confirms.acked(2, False)

    assert second.answer == Confirmation(2, "shop 1")
    assert first.answer is None
    assert len(confirms) == 1


def test_one_confirmation_may_be_for_all_up_to_it() -> None:
    confirms = Confirms("shop 1")
    publications = _sent(confirms, 4)

    confirms.acked(3, True)

    answers = [publication.answer for publication in publications]
    assert answers == [*(Confirmation(tag, "shop 1") for tag in (1, 2, 3)), None]


def test_a_returned_message_is_not_confirmed_though_the_broker_confirms_it() -> None:
    confirms = Confirms("shop 1")
    first, second = _sent(confirms, 2)

    confirms.returned(second.identity, "NO_ROUTE")
    confirms.acked(2, True)

    assert isinstance(first.answer, Confirmation)
    assert isinstance(second.answer, UndeliverableError)
    assert str(second.answer) == (
        "returned, NO_ROUTE: no queue is bound to exchange 'shop-events' for routing key "
        "'shop.order.paid'; subscribe to it, or bind a queue"
    )


def test_a_return_is_forgotten_with_its_message() -> None:
    confirms = Confirms("shop 1")
    (first,) = _sent(confirms, 1)
    confirms.returned(first.identity, "NO_ROUTE")
    confirms.acked(1, False)
    again = _publication("event-0")
    confirms.sent(again)

    confirms.acked(2, False)

    assert isinstance(again.answer, Confirmation)


def test_no_is_no_confirmation() -> None:
    confirms = Confirms("shop 1")
    first, second = _sent(confirms, 2)

    confirms.nacked(2, True)

    for publication in (first, second):
        assert isinstance(publication.answer, NotConfirmedError)


def test_what_is_not_under_way_changes_nothing() -> None:
    confirms = Confirms("shop 1")

    confirms.acked(7, True)
    confirms.nacked(7, False)
    confirms.returned(a_message().identity, "NO_ROUTE")

    assert len(confirms) == 0


def test_the_next_try_finds_the_one_under_way() -> None:
    confirms = Confirms("shop 1")
    (first,) = _sent(confirms, 1)

    assert confirms.earlier_try(_publication("event-0").identity) is first
    assert confirms.earlier_try(_publication("event-1").identity) is None
    for_one = a_message(message_id="event-0", headers={"cloudEvents_subscriber": "mail"})
    assert confirms.earlier_try(for_one.identity) is None


def test_a_confirmation_that_comes_too_late_is_for_the_next_try_alone() -> None:
    confirms = Confirms("shop 1")
    late, in_time = _sent(confirms, 2)
    late.call = None

    confirms.acked(2, True)

    assert confirms.earlier_try(late.identity) is late
    assert confirms.earlier_try(late.identity) is None
    assert confirms.earlier_try(in_time.identity) is None


def test_a_refusal_that_comes_too_late_is_forgotten() -> None:
    confirms = Confirms("shop 1")
    (late,) = _sent(confirms, 1)
    late.call = None

    confirms.nacked(1, False)

    assert confirms.earlier_try(late.identity) is None


def test_late_confirmations_are_kept_for_a_while_and_not_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(confirms_module, "_MOST_LATE", 2)
    confirms = Confirms("shop 1")
    publications = _sent(confirms, 3)
    for publication in publications:
        publication.call = None

    confirms.acked(3, True)

    kept = [confirms.earlier_try(each.identity) for each in publications[:2]]
    assert kept == [None, publications[1]]
    monkeypatch.setattr(confirms_module, "_LATE_SECONDS", 0.0)
    assert confirms.earlier_try(publications[2].identity) is None


def test_who_waits_is_woken_by_the_last_answer() -> None:
    confirms = Confirms("shop 1")
    call = Call()
    publications = _sent(confirms, 3, call=call)
    call.take(publications[0])  # a second time
    assert call.missing == 3

    confirms.acked(2, True)
    assert not call.changed.is_set()
    confirms.nacked(3, False)

    assert call.changed.is_set()
    assert call.missing == 0
    call.take(publications[0])  # it has its answer
    assert call.missing == 0


def test_the_oldest_without_an_answer_says_since_when_answers_are_awaited() -> None:
    confirms = Confirms("shop 1")
    assert confirms.waits_since() == math.inf
    first, second = _sent(confirms, 2)

    assert confirms.waits_since() == first.sent_at
    confirms.acked(1, False)
    assert confirms.waits_since() == second.sent_at
    confirms.acked(2, False)
    assert confirms.waits_since() == math.inf
