"""An application whose outbox is in a file, and whose event manager must not be started."""

import os
from pathlib import Path

from pragmatic_ddd.application.outbox import OutboxRelay
from pragmatic_ddd_relay import RelayApplication
from pragmatic_ddd_sqlalchemy import SqlAlchemyOutboxStore, create_sqlite_engine
from tests.adapters.relay.apps import TalkingLifecycle, TalkingPublisher


def outbox_in(file: Path) -> SqlAlchemyOutboxStore:
    return SqlAlchemyOutboxStore(create_sqlite_engine(file))


def application() -> RelayApplication:
    relay = OutboxRelay(
        store=outbox_in(Path(os.environ["OUTBOX_FILE"])), publisher=TalkingPublisher()
    )
    return RelayApplication(relay=relay, lifecycles=[TalkingLifecycle("a", fails_to_start=True)])
