"""The relay as a process of its own.

export OUTBOX_POLL_INTERVAL=1s
python -m pragmatic_ddd_relay run --app examples.order_service.relay:application
"""

from examples.order_service.composition_root import compose
from examples.order_service.settings import Settings
from pragmatic_ddd.application.outbox import OutboxRelay
from pragmatic_ddd.ports import IEventManager
from pragmatic_ddd_relay import RelayApplication


def application() -> RelayApplication:
    container = compose(Settings.from_environment())
    return RelayApplication(
        relay=container.resolve(OutboxRelay), lifecycles=(container.resolve(IEventManager),)
    )
