"""What may differ from one place to another, from the environment.

SHOP_DATABASE_URL             sqlite:///orders.db (default), postgresql+psycopg://…, mysql+pymysql://…
SHOP_BROKER_URL               see brokers.py; unset, the subscribers are in the process that sends
SHOP_CONSUMER_GROUP           of the processes that share the events among them

The outbox reads the keys outbox.* from there, too: OUTBOX_POLL_INTERVAL=1s.
"""

from typing import Self

import attrs

from pragmatic_ddd.application.configuration import EnvironmentConfigurationSource, bind


@attrs.frozen(kw_only=True)
class Settings:
    """Settings of every process of the service.

    Attributes:
        database_url: Where orders and outbox are; it may hold a password.
        broker_url: The broker, which may hold a password; ``None``: subscribers in this process.
        consumer_group: The processes that share the events among them.
    """

    database_url: str = attrs.field(default="sqlite:///orders.db", repr=False)
    broker_url: str | None = attrs.field(default=None, repr=False)
    consumer_group: str | None = None

    @classmethod
    def from_environment(cls) -> Self:
        """Read the environment.

        Raises:
            ConfigurationError: Settings are wrong; names each with its value and the rule.
        """
        return bind(cls, EnvironmentConfigurationSource(), prefix="shop")
