"""What may differ from one place to another, from the environment.

DATABASE_URL  sqlite:///orders.db (default), postgresql+psycopg://…, mysql+pymysql://…
BROKER        in-process (default), rocketmq://host:9876
CONSUMERS     warehouse (default): the group of processes that share the events among them

The outbox reads the keys outbox.* from there, too: OUTBOX_POLL_INTERVAL=1s.
"""

import os
from typing import Self
from urllib.parse import urlsplit

import attrs

from pragmatic_ddd.errors import ConfigurationError


@attrs.frozen(kw_only=True)
class Settings:
    """Settings of every process of the service.

    Attributes:
        database_url: Where orders and outbox are.
        name_server: RocketMQ's; ``None`` for subscribers in this process.
        consumers: Their group at the broker.
    """

    database_url: str = "sqlite:///orders.db"
    name_server: str | None = None
    consumers: str = "warehouse"

    @classmethod
    def from_environment(cls) -> Self:
        """Read the environment.

        Raises:
            ConfigurationError: A setting is wrong; names key, value and rule.
        """
        return cls(
            database_url=os.environ.get("DATABASE_URL", "sqlite:///orders.db"),
            name_server=_name_server(os.environ.get("BROKER", "in-process")),
            consumers=os.environ.get("CONSUMERS", "warehouse"),
        )


def _name_server(broker: str) -> str | None:
    if broker == "in-process":
        return None
    url = urlsplit(broker)
    if url.scheme != "rocketmq" or not url.netloc:
        raise ConfigurationError([f"BROKER = {broker!r}: in-process, or rocketmq://host:port"])
    return url.netloc
