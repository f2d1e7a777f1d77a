"""Applications for the relay process: each prints what happens to it."""

import datetime as dt
import logging
import os
import time
from collections.abc import Sequence
from pathlib import Path

import attrs

from pragmatic_ddd.application.outbox import OutboxRelay, OutboxRelayConfig
from pragmatic_ddd.errors import BrokerUnavailableError, ConfigurationError, OutboxStoreError
from pragmatic_ddd.ports import ClaimedMessage, OutboxMessage, Receipt
from pragmatic_ddd_local import InMemoryOutboxStore
from pragmatic_ddd_relay import RelayApplication

NOT_CALLABLE = "text"


def say(text: str) -> None:
    print(text, flush=True)


@attrs.define(eq=False)
class TalkingStore(InMemoryOutboxStore):
    def release(self, claimed: Sequence[ClaimedMessage]) -> int:
        say(f"released {len(claimed)}")
        return super().release(claimed)


class AwayStore(TalkingStore):
    def claim_pending(
        self, *, batch_size: int, lease: dt.timedelta, confirmed_token: str | None = None
    ) -> list[ClaimedMessage]:
        cause = ConnectionError("a detail of the driver")
        raise OutboxStoreError("no such table: outbox\nLINE 1: " + "x" * 20_000) from cause


@attrs.define
class TalkingPublisher:
    """Publishes once a file exists, so that a test can see it in the middle of a send."""

    longest_call: dt.timedelta = dt.timedelta(seconds=20)
    side_by_side: int = 1
    gate: Path | None = None

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        say(f"publishing {message.message_id}")
        while self.gate is not None and not self.gate.exists():
            time.sleep(0.01)
        say(f"published {message.message_id}")
        return Receipt("")


class AwayPublisher(TalkingPublisher):
    def publish_stored(self, message: OutboxMessage) -> Receipt:
        raise BrokerUnavailableError(message.message_id, "topic", "connection refused")


@attrs.define
class TalkingLifecycle:
    name: str
    fails_to_start: bool = False
    fails_to_end: bool = False
    error: type[Exception] = RuntimeError

    def start(self) -> None:
        say(f"start {self.name}")
        if self.fails_to_start:
            raise self.error(f"{self.name} cannot start")

    def shutdown(self) -> None:
        say(f"shutdown {self.name}")
        if self.fails_to_end:
            raise self.error(f"{self.name} cannot end")


def a_relay(publisher: TalkingPublisher | None = None, *, messages: int = 3) -> OutboxRelay:
    store = TalkingStore()
    for number in range(messages):
        store.store(
            [
                OutboxMessage(
                    message_id=f"m{number}",
                    aggregate_type="shop.order",
                    aggregate_id=str(number),
                    event_type="shop.order.paid",
                    payload=b"{}",
                )
            ]
        )
    config = OutboxRelayConfig(batch_size=2, poll_interval=dt.timedelta(minutes=5))
    return OutboxRelay(store=store, publisher=publisher or TalkingPublisher(), config=config)


def just_a_relay() -> OutboxRelay:
    return a_relay()


def with_lifecycles() -> RelayApplication:
    return RelayApplication(
        relay=a_relay(), lifecycles=[TalkingLifecycle("a"), TalkingLifecycle("b")]
    )


def slow() -> RelayApplication:
    publisher = TalkingPublisher(gate=Path(os.environ["GATE"]))
    return RelayApplication(
        relay=a_relay(publisher), lifecycles=[TalkingLifecycle("a"), TalkingLifecycle("b")]
    )


def idle() -> RelayApplication:
    class Ready(TalkingLifecycle):
        def start(self) -> None:
            say("ready")

    return RelayApplication(relay=a_relay(messages=0), lifecycles=[Ready("a")])


def broker_away() -> OutboxRelay:
    return a_relay(AwayPublisher())


def database_away() -> OutboxRelay:
    config = OutboxRelayConfig(poll_interval=dt.timedelta(minutes=5))
    return OutboxRelay(store=AwayStore(), publisher=TalkingPublisher(), config=config)


def never_in_time() -> OutboxRelay:
    """A relay to which every lease seems over, as if its host had slept since the claim."""
    return attrs.evolve(a_relay(), monotonic=lambda: time.monotonic() + 3600)


def cannot_start() -> RelayApplication:
    lifecycles = [TalkingLifecycle("a"), TalkingLifecycle("b", fails_to_start=True)]
    return RelayApplication(relay=a_relay(), lifecycles=lifecycles)


def cannot_end() -> RelayApplication:
    lifecycles = [TalkingLifecycle("a"), TalkingLifecycle("b", fails_to_end=True)]
    return RelayApplication(relay=a_relay(), lifecycles=lifecycles)


def cannot_end_as_expected() -> RelayApplication:
    lifecycle = TalkingLifecycle("a", fails_to_end=True, error=OutboxStoreError)
    return RelayApplication(relay=a_relay(), lifecycles=[lifecycle])


class HangsInItsDestructor:
    def __del__(self) -> None:
        time.sleep(600)


def hangs_in_a_destructor() -> OutboxRelay:
    globals()["native client"] = HangsInItsDestructor()
    return a_relay()


def says_goodbye() -> OutboxRelay:
    import atexit

    atexit.register(lambda: say("goodbye"))
    return a_relay(messages=0)


def logs_a_traceback() -> OutboxRelay:
    def has_a_bug() -> None:
        raise ZeroDivisionError("a bug\nin two lines")

    try:
        has_a_bug()
    except ZeroDivisionError:
        logging.getLogger("shop").exception("it failed\nin two lines")
    logging.getLogger("shop").debug("a detail")
    return a_relay(messages=0)


def raises() -> OutboxRelay:
    raise ZeroDivisionError("a bug in the composition root")


def is_misconfigured() -> OutboxRelay:
    raise ConfigurationError(["OUTBOX_POLL_INTERVAL=1: expected a duration", "OUTBOX_LEASE=2: no"])


def leaves() -> OutboxRelay:
    raise SystemExit(0)


def returns_text() -> str:
    return "relay"


def has_a_lifecycle_without_an_end() -> RelayApplication:
    return RelayApplication(relay=a_relay(), lifecycles=[object()])  # type: ignore[list-item]


class Root:
    @staticmethod
    def relay() -> OutboxRelay:
        return a_relay(messages=0)
