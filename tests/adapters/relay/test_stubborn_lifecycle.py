"""A lifecycle whose shutdown wants to end the process, which only the main thread can."""

import sys

from pragmatic_ddd.application.outbox import OutboxRelay
from pragmatic_ddd_local import InMemoryOutboxStore
from pragmatic_ddd_relay import RelayApplication
from tests.adapters.relay.apps import TalkingPublisher
from tests.adapters.relay.test_process import Start, start

__all__ = ["start"]


class Exits:
    def start(self) -> None: ...

    def shutdown(self) -> None:
        sys.exit(7)


def exits() -> RelayApplication:
    relay = OutboxRelay(store=InMemoryOutboxStore(), publisher=TalkingPublisher())
    return RelayApplication(relay=relay, lifecycles=[Exits()])


def test_the_process_ends_and_says_that_it_has_failed(start: Start) -> None:
    process = start("run", "--app", f"{__name__}:exits", "--once")

    assert process.exit_code() == 1
    assert "could not be shut down" in process.logged()
