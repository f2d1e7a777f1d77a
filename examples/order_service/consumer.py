"""The consumer process, behind a broker: warehouse and order list hear what the shop does.

export SHOP_BROKER_URL=kafka://127.0.0.1:29092 SHOP_CONSUMER_GROUP=shop
python -m examples.order_service.consumer

Without a broker there is no such process: the subscribers live where the events are.
"""

import logging
import signal
import threading
from typing import NoReturn

from examples.order_service.brokers import leave
from examples.order_service.composition_root import compose, create_schema, subscribe
from examples.order_service.settings import Settings
from pragmatic_ddd.ports import IEventManager


def main() -> NoReturn:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    settings = Settings.from_environment()
    if settings.broker_url is None or settings.consumer_group is None:
        raise SystemExit("set SHOP_BROKER_URL and SHOP_CONSUMER_GROUP")
    container = compose(settings)
    create_schema(container)
    events: IEventManager = container.resolve(IEventManager)
    subscribe(container)
    events.start()
    print("warehouse and order list listen", flush=True)
    stop.wait()
    events.shutdown()
    leave(settings.broker_url)


if __name__ == "__main__":
    main()
