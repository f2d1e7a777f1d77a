"""An event as it came from a broker, before it is decoded."""

import attrs

from pragmatic_ddd.application.events.addressee import EVERYBODY, Addressee
from pragmatic_ddd.ports.outbox_message import OutboxMessage


@attrs.frozen(kw_only=True)
class ReceivedEvent:
    """What a received message says of the event in it.

    Attributes:
        message: The event as it was stored, not yet decoded.
        addressee: Whom it is for.
        topic: Where it came from; empty where the adapter does not say.
    """

    message: OutboxMessage
    addressee: Addressee = EVERYBODY
    topic: str = ""
