"""Port: what the confirmation of a broker is worth, so that people can read what SENT means."""

import attrs
from attrs import validators


@attrs.frozen(kw_only=True)
class Durability:
    """A durability profile: what a confirmed message survives, at the least.

    A broker whose own settings ask for more keeps more. What they may not ask for is not
    promised here: an event manager sees its own settings, not those of every broker.

    Attributes:
        name: Short name, by which a config chooses it.
        sent_means: One sentence: what has happened when an event is confirmed.
        survives_process_crash: Whether it outlives the crash of the broker's process.
        survives_power_loss: Whether it outlives that the broker's machine loses power.
        survives_node_loss: Whether it outlives the loss of the broker's machine and its disk.
    """

    name: str = attrs.field(validator=validators.min_len(1))
    sent_means: str = attrs.field(validator=validators.min_len(1))
    survives_process_crash: bool
    survives_power_loss: bool
    survives_node_loss: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.sent_means}"
