"""Contract of an event manager over a broker: subclass it, bind it to the real broker, run pytest.

    class TestMine(EventManagerContract, BrokerContract):
        @pytest.fixture
        def broker(self) -> Iterator[IBrokerUnderTest]: ...    # a topic and a group of its own
        @pytest.fixture
        def stored(self) -> Callable[[DomainEvent], OutboxMessage]: ...
        @pytest.fixture
        def outbox(self) -> Iterator[ContractOutbox]: ...

It comes beside ``EventManagerContract``, which every event manager passes; one binding serves
both. What the broker cannot do is said by the class attributes of ``BrokerBinding``.
"""

from pragmatic_ddd.testing.broker_binding import (
    BrokerBinding,
    BrokerMessage,
    ContractOutbox,
    IBrokerUnderTest,
)
from pragmatic_ddd.testing.broker_consuming import BrokerConsumingContract
from pragmatic_ddd.testing.broker_life import BrokerLifeContract
from pragmatic_ddd.testing.broker_order import BrokerOrderContract
from pragmatic_ddd.testing.broker_outage import BrokerOutageContract
from pragmatic_ddd.testing.broker_publishing import BrokerPublishingContract
from pragmatic_ddd.testing.broker_refusing import BrokerRefusingContract
from pragmatic_ddd.testing.broker_subscribing import BrokerSubscribingContract

__all__ = [
    "BrokerBinding",
    "BrokerContract",
    "BrokerMessage",
    "ContractOutbox",
    "IBrokerUnderTest",
]


class BrokerContract(
    BrokerPublishingContract,
    BrokerRefusingContract,
    BrokerOrderContract,
    BrokerConsumingContract,
    BrokerSubscribingContract,
    BrokerLifeContract,
    BrokerOutageContract,
):
    """What every event manager over a broker promises, tried on a real broker."""
