"""What may differ from one place to another, from the environment.

SHIPPING_DATABASE_URL     sqlite:///shipping.db (default), postgresql+psycopg://…, mysql+pymysql://…
SHIPPING_BROKER_URL       where the shop sends; see examples/order_service/brokers.py
SHIPPING_CONSUMER_GROUP   shipping (default): of the processes of this service
"""

from typing import Self

import attrs

from pragmatic_ddd.application.configuration import EnvironmentConfigurationSource, bind


@attrs.frozen(kw_only=True)
class Settings:
    """Settings of the service.

    Attributes:
        database_url: Where shipments and inbox are; it may hold a password.
        broker_url: Where events come from; it may hold a password.
        consumer_group: The processes that share the events among them.
    """

    database_url: str = attrs.field(default="sqlite:///shipping.db", repr=False)
    broker_url: str = attrs.field(repr=False)
    consumer_group: str = "shipping"

    @classmethod
    def from_environment(cls) -> Self:
        """Read the environment.

        Raises:
            ConfigurationError: Settings are wrong; names each with its value and the rule.
        """
        return bind(cls, EnvironmentConfigurationSource(), prefix="shipping")
