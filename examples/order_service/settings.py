"""What may differ from one place to another, from the environment.

DATABASE_URL  sqlite:///orders.db (default), postgresql+psycopg://…, mysql+pymysql://…
BROKER        in-process (default), rocketmq://host:9876
OUTBOX_…      the keys outbox.*, such as OUTBOX_POLL_INTERVAL=1s
"""

import os
from collections.abc import Mapping
from typing import Self
from urllib.parse import urlsplit

import attrs

from pragmatic_ddd.errors import ConfigurationError


@attrs.frozen(kw_only=True)
class Settings:
    """Settings of every process of the service.

    Attributes:
        database_url: Where orders and outbox are.
        broker: ``in-process``, or the URL of a name server.
    """

    database_url: str = "sqlite:///orders.db"
    broker: str = "in-process"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        return cls(
            database_url=environment.get("DATABASE_URL", "sqlite:///orders.db"),
            broker=environment.get("BROKER", "in-process"),
        )

    @property
    def name_server(self) -> str | None:
        """Return RocketMQ's ``host:port``; ``None`` for subscribers in this process.

        Raises:
            ConfigurationError: The broker is neither.
        """
        if self.broker == "in-process":
            return None
        parts = urlsplit(self.broker)
        if parts.scheme != "rocketmq" or not parts.netloc:
            raise ConfigurationError(
                [f"BROKER = {self.broker!r}: in-process or rocketmq://host:port"]
            )
        return parts.netloc
