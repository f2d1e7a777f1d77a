"""The application: threads that change orders, with the eager path on."""

import datetime as dt
import itertools
import json
import random
import sys
import threading
import time

from pragmatic_ddd.application.outbox.eager import EagerOutboxPublisher
from pragmatic_ddd.errors import ConcurrencyError, EventPublishError, OutboxStoreError
from pragmatic_ddd_sqlalchemy import SqlAlchemyUnitsOfWork
from tests.acceptance.e2e.model import Order, Probe, map_order
from tests.acceptance.e2e.part import ORDERS, PROBES, Part
from tests.acceptance.e2e.wiring import Wiring
from tests.acceptance.tally import arrivals

THREADS = 4
PROBE_DEADLINE_SECONDS = 120


def main() -> int:
    part = Part.of_this_process()
    wiring = Wiring.of(part)
    map_order(wiring.orders)
    wiring.events.start()
    try:
        _wait_for_consumer(wiring, part)
        with wiring.eager() as eager:
            _place_and_change(wiring, eager)
            eager.wait_until_idle(dt.timedelta(seconds=30))
    finally:
        wiring.events.shutdown()
        part.counts("orders").write_text(json.dumps(wiring.counts()))
    return 0


def _wait_for_consumer(wiring: Wiring, part: Part) -> None:
    """Send probes to every queue until the consumer has seen them: it holds all queues then."""
    deadline = time.monotonic() + PROBE_DEADLINE_SECONDS
    for n in range(PROBES):
        _probe(wiring, n, deadline)
    while len({one.event_id for one in arrivals(part.received_log, kind="Probe")}) < PROBES:
        if time.monotonic() > deadline:
            raise TimeoutError("the consumer does not hold its queues")
        time.sleep(0.1)


def _probe(wiring: Wiring, number: int, deadline: float) -> None:
    """Send a probe; RabbitMQ returns it as long as no consumer has made its queue."""
    while True:
        try:
            wiring.events.publish(Probe(aggregate_id=f"probe-{number}"))
        except EventPublishError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _place_and_change(wiring: Wiring, eager: EagerOutboxPublisher) -> None:
    units_of_work = SqlAlchemyUnitsOfWork(wiring.sessions(eager))
    events_each = wiring.part.events_each
    for n in range(ORDERS):
        with units_of_work() as work:
            order = Order(id=f"order-{n}")
            order.change(events_each[n])
            work.add(order)
            work.commit()
    numbers = itertools.count(ORDERS)
    failures: list[BaseException] = []

    def change() -> None:
        rnd = random.Random(threading.get_ident())
        try:
            while (n := next(numbers)) < len(events_each):
                _change_once(units_of_work, f"order-{rnd.randrange(ORDERS)}", events_each[n])
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=change) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _change_once(units_of_work: SqlAlchemyUnitsOfWork, order_id: str, events: int) -> None:
    """Change one order, again after a lost race, as an application would."""
    while True:
        try:
            with units_of_work() as work:
                work.get(Order, order_id).change(events)
                work.commit()
        except (ConcurrencyError, OutboxStoreError) as error:
            if not error.retryable:
                raise
        else:
            return


if __name__ == "__main__":
    sys.exit(main())
