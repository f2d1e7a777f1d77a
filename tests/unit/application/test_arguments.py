from collections.abc import Callable

import pytest

from pragmatic_ddd.application.arguments import refuse_text
from pragmatic_ddd.application.outbox import EagerOutboxPublisher, OutboxRelay
from pragmatic_ddd.testing.faults import ScriptedPublisher
from pragmatic_ddd_local import InMemoryOutboxStore


@pytest.mark.parametrize("service", [EagerOutboxPublisher, OutboxRelay])
@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("store", None, "store: None is no IOutboxStore: it has no backlog, claim, .*tidy"),
        ("store", InMemoryOutboxStore, "store: .*InMemoryOutboxStore.* is a class: give an object"),
        (
            "publisher",
            InMemoryOutboxStore(),
            "publisher: .* it has no longest_call, publish_stored",
        ),
        ("metrics", print, "metrics: .* it has no backlog, "),
        ("config", {"batch_size": 3}, "'config' must be .*OutboxRelayConfig"),
        ("health", None, "'health' must be .*BrokerHealth"),
    ],
)
def test_what_is_no_port_is_named_when_the_service_is_made(
    service: Callable[..., object], name: str, value: object, problem: str
) -> None:
    given = {"store": InMemoryOutboxStore(), "publisher": ScriptedPublisher()} | {name: value}

    with pytest.raises(TypeError, match=problem):
        service(**given)


@pytest.mark.parametrize(
    ("name", "value"), [("pool", {"workers": 3}), ("wake_relay", "relay.wake")]
)
def test_the_eager_publishers_own_arguments_are_checked_too(name: str, value: object) -> None:
    make: Callable[..., object] = EagerOutboxPublisher
    given = {"store": InMemoryOutboxStore(), "publisher": ScriptedPublisher()} | {name: value}

    with pytest.raises(TypeError, match=name):
        make(**given)


def test_one_text_is_not_many() -> None:
    refuse_text("message_ids", ["m1"])

    with pytest.raises(TypeError, match=r"message_ids is 'm1': give a list, such as \['m1'\]"):
        refuse_text("message_ids", "m1")
