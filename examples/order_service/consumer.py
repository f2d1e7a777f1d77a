"""The consumer process, behind a broker: the warehouse hears what the shop does.

BROKER=rocketmq://127.0.0.1:9876 python -m examples.order_service.consumer

With BROKER=in-process there is no such process: the subscribers live where the events are.
"""

import logging
import signal
import threading
from typing import NoReturn

from examples.order_service.application.warehouse import Warehouse
from examples.order_service.composition_root import compose, create_schema
from examples.order_service.settings import Settings
from pragmatic_ddd.ports import IEventManager
from pragmatic_ddd_rocketmq import leave_process


def main() -> NoReturn:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    settings = Settings.from_environment()
    if settings.name_server is None:
        raise SystemExit("set BROKER=rocketmq://host:port: in process, the shop has the warehouse")
    container = compose(settings)
    create_schema(container)
    events: IEventManager = container.resolve(IEventManager)
    warehouse: Warehouse = container.resolve(Warehouse)
    warehouse.subscribe_to(events)
    events.start()
    print("the warehouse listens", flush=True)
    stop.wait()
    events.shutdown()
    leave_process()


if __name__ == "__main__":
    main()
