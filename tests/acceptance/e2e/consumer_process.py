"""The consumer: writes down every message in the order in which it arrives."""

import json
import signal
import threading

import attrs

from pragmatic_ddd import DomainEvent
from tests.acceptance.brokers.catalogue import broker
from tests.acceptance.e2e.model import OrderChanged, Probe
from tests.acceptance.e2e.part import Part
from tests.acceptance.e2e.wiring import Wiring
from tests.acceptance.tally import Arrival


def main() -> None:
    part = Part.of_this_process()
    wiring = Wiring.of(part, consumer_group=part.group)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    lock = threading.Lock()
    with part.received_log.open("a", buffering=1) as log:

        def note(event: DomainEvent) -> None:
            arrival = Arrival(
                event_id=event.event_id,
                aggregate_id=event.aggregate_id,
                version=event.aggregate_version,
                index=event.event_index,
                kind=type(event).__name__,
            )
            with lock:
                log.write(json.dumps(attrs.asdict(arrival)) + "\n")

        wiring.events.register_subscriber("note-probe", Probe, note)
        wiring.events.register_subscriber("note-order", OrderChanged, note)
        wiring.events.start()
        stop.wait()
        wiring.events.shutdown()
    broker(part.broker).leave()


if __name__ == "__main__":
    main()
