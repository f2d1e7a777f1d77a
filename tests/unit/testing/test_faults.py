import datetime as dt
import threading

import pytest

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
)
from pragmatic_ddd.ports import IStoredEventPublisher
from pragmatic_ddd.testing.clock import SettableClock
from pragmatic_ddd.testing.faults import (
    ScriptedPublisher,
    Step,
    confirms,
    fails,
    goes_unconfirmed,
    loses_the_answer,
    raises,
    rejects,
    returns,
    takes,
    unavailable,
    waits_for,
)
from pragmatic_ddd.testing.messages import a_message


def test_what_is_not_scripted_is_confirmed() -> None:
    scripted = ScriptedPublisher()
    publisher: IStoredEventPublisher = scripted

    assert publisher.publish_stored(a_message("m1")).text == "scripted: m1"
    assert scripted.delivered_ids() == ["m1"]
    assert publisher.longest_call == dt.timedelta(seconds=3)
    assert publisher.side_by_side == 1


def test_the_wrapped_publisher_confirms() -> None:
    inner = ScriptedPublisher()
    outer = ScriptedPublisher(inner)
    outer.next(fails())

    with pytest.raises(EventPublishError):
        outer.publish_stored(a_message("m1"))
    outer.publish_stored(a_message("m2"))

    assert inner.delivered_ids() == outer.delivered_ids() == ["m2"]
    assert [message.message_id for message in outer.tried] == ["m1", "m2"]


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (fails(), EventPublishError),
        (goes_unconfirmed(), EventUnconfirmedError),
        (unavailable(), BrokerUnavailableError),
        (rejects(), EventRejectedError),
        (raises(LookupError("odd")), LookupError),
    ],
)
def test_a_scripted_failure_delivers_nothing(step: Step, error: type[Exception]) -> None:
    publisher = ScriptedPublisher()
    publisher.next(step)

    with pytest.raises(Exception) as failure:  # noqa: PT011  # its exact class is compared
        publisher.publish_stored(a_message("m1"))

    assert type(failure.value) is error
    assert publisher.delivered == []
    publisher.publish_stored(a_message("m1"))
    assert publisher.delivered_ids() == ["m1"]


def test_an_answer_can_be_lost() -> None:
    publisher = ScriptedPublisher()
    publisher.next(loses_the_answer())

    with pytest.raises(EventUnconfirmedError):
        publisher.publish_stored(a_message("m1"))

    assert publisher.delivered_ids() == ["m1"]


def test_something_else_than_a_receipt_can_be_returned() -> None:
    publisher = ScriptedPublisher()
    publisher.next(returns(None), returns(False))

    answers: list[object] = [publisher.publish_stored(a_message()) for _ in range(2)]

    assert answers == [None, False]


def test_the_script_of_a_message_comes_before_the_next_step() -> None:
    publisher = ScriptedPublisher()
    publisher.next(rejects())
    publisher.on("m1", unavailable(), confirms)

    with pytest.raises(BrokerUnavailableError):
        publisher.publish_stored(a_message("m1"))
    publisher.publish_stored(a_message("m1"))
    with pytest.raises(EventRejectedError):
        publisher.publish_stored(a_message("m2"))


def test_an_outage_lasts_as_long_as_its_block() -> None:
    publisher = ScriptedPublisher()
    with publisher.always(unavailable()):
        for _ in range(3):
            with pytest.raises(BrokerUnavailableError):
                publisher.publish_stored(a_message())

    publisher.publish_stored(a_message("m1"))
    assert publisher.delivered_ids() == ["m1"]


def test_a_call_may_hang_until_it_is_let_go() -> None:
    publisher = ScriptedPublisher()
    gate = threading.Event()
    publisher.next(waits_for(gate))
    thread = threading.Thread(target=publisher.publish_stored, args=(a_message("m1"),))
    thread.start()
    assert publisher.delivered == []

    gate.set()
    thread.join(10)

    assert publisher.delivered_ids() == ["m1"]


def test_a_call_that_nobody_lets_go_fails_the_test() -> None:
    publisher = ScriptedPublisher()
    publisher.next(waits_for(threading.Event(), dt.timedelta()))

    with pytest.raises(AssertionError, match="m1"):
        publisher.publish_stored(a_message("m1"))


def test_a_call_may_take_its_time() -> None:
    publisher = ScriptedPublisher()
    clock = SettableClock()
    before = clock.now()
    publisher.next(takes(dt.timedelta(seconds=30), clock.advance))

    publisher.publish_stored(a_message())

    assert clock.now() - before == dt.timedelta(seconds=30)
