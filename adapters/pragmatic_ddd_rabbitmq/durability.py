"""What the confirmation of RabbitMQ is worth: it depends on the kind of the queues.

The publisher does not choose the queues, the consumers do: a confirmation comes when every queue
that is bound for an event has taken it. These profiles are of the queues declared here.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pragmatic_ddd.ports.durability import Durability

QUORUM: Final = Durability(
    name="quorum",
    sent_means=(
        "every queue that is bound for the event has taken it; of a quorum queue the majority of "
        "its replicas, up to three in a cluster, has written it to disk"
    ),
    survives_process_crash=True,
    survives_power_loss=True,
    survives_node_loss=False,  # it does in a cluster of three nodes; a single node has no majority
)
CLASSIC: Final = Durability(
    name="classic",
    sent_means=(
        "every queue that is bound for the event has taken it; of a classic queue its one node "
        "has handed it to the operating system"
    ),
    survives_process_crash=True,
    survives_power_loss=False,
    survives_node_loss=False,
)

PROFILES: Final[Mapping[str, Durability]] = MappingProxyType(
    {profile.name: profile for profile in (QUORUM, CLASSIC)}
)
