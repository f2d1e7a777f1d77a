"""What SENT means on Kafka: two profiles, of which the weaker one is chosen by name only."""

from collections.abc import Mapping
from typing import Final

from pragmatic_ddd.ports.durability import Durability

ALL: Final = Durability(
    name="all",
    sent_means=(
        "Every in-sync replica of the partition has the event (acks=all), and resends within the "
        "client are dropped by the broker (idempotent producer); how many replicas that are at "
        "the least, the topic's min.insync.replicas decides, and none waits for its disk."
    ),
    survives_process_crash=True,
    survives_power_loss=False,
    survives_node_loss=False,
)

LEADER: Final = Durability(
    name="leader",
    sent_means=(
        "The leader of the partition has the event (acks=1): if the leader goes before a replica "
        "has fetched it, the event is lost though its row says SENT."
    ),
    survives_process_crash=False,
    survives_power_loss=False,
    survives_node_loss=False,
)

DURABILITIES: Final[Mapping[str, Durability]] = {each.name: each for each in (ALL, LEADER)}
