from typing import Any

import pytest

from pragmatic_ddd.errors import BroadcastSendError
from pragmatic_ddd.ports import AggregateMessageEnvelope, Receipt
from pragmatic_ddd.testing.broadcast_messenger import an_envelope
from pragmatic_ddd_local import Broadcast, InMemoryBroadcastMessenger


def test_what_was_sent_is_kept_in_order() -> None:
    messenger = InMemoryBroadcastMessenger()
    first, second = an_envelope(), an_envelope()

    messenger.send("a", first)

    assert messenger.send("b", second) == Receipt("in-process: b, 2")
    assert messenger.sent == [Broadcast("a", first), Broadcast("b", second)]


def test_a_handler_that_fails_makes_sending_fail_and_holds_back_no_other() -> None:
    messenger = InMemoryBroadcastMessenger()
    came: list[AggregateMessageEnvelope] = []
    failure = TimeoutError("no answer")

    def fail(_: AggregateMessageEnvelope) -> None:
        raise failure

    messenger.subscribe("a", fail)
    messenger.subscribe("a", came.append)
    envelope = an_envelope()

    with pytest.raises(BroadcastSendError) as caught:
        messenger.send("a", envelope)

    assert caught.value.__cause__ is failure
    assert caught.value.retryable
    assert str(caught.value) == (
        f"cannot broadcast shop.order-paid {envelope.message_id}: "
        f"handlers failed: TimeoutError: no answer"
    )
    assert came == [envelope]
    assert messenger.sent == []


def test_a_handler_is_a_function() -> None:
    wrong: Any = "print"

    with pytest.raises(TypeError, match=r"^handler = 'print': give a function$"):
        InMemoryBroadcastMessenger().subscribe("a", wrong)
    with pytest.raises(ValueError, match=r"^topic = '': say it, in words$"):
        InMemoryBroadcastMessenger().subscribe("", print)
