"""A message as it came, copied out of the client's own form."""

from collections.abc import Mapping
from typing import Any

import attrs


@attrs.frozen
class Queue:
    """A queue of a topic: its messages come in order, and only one consumer has any of them.

    Attributes:
        topic: Name of the topic.
        broker: Name of the broker.
        number: From 0.
    """

    topic: str
    broker: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}, queue {self.number} of {self.broker}"


@attrs.frozen(kw_only=True)
class ReceivedMessage:
    """A received message.

    Attributes:
        message_id: The id that the sending client gave it; another one after every resend.
        queue: Where it lies.
        queue_offset: Its place in that queue.
        body: Its content.
        message_group: What it is kept in order with; empty where it has none.
        keys: What the broker's tools find it by.
        tag: What consumers may filter by.
        properties: Those that its sender gave it.
        delivery_attempt: How often it was given out, this time included, tried or not.
    """

    message_id: str
    queue: Queue
    queue_offset: int
    body: bytes = attrs.field(repr=False)
    message_group: str = ""
    keys: tuple[str, ...] = ()
    tag: str = ""
    properties: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    delivery_attempt: int = 1

    @property
    def topic(self) -> str:
        """Where it came from."""
        return self.queue.topic

    @property
    def where(self) -> str:
        """Which message this is, for people."""
        return f"message {self.message_id} of {self.queue}, offset {self.queue_offset}"


@attrs.define(eq=False)
class HeldMessage:
    """A message that this process has, and nobody else until its time is over.

    Attributes:
        message: The message.
        receipt_handle: What proves it to the proxy; another one after each extension.
        address: Where it came from, as the client writes it.
    """

    message: ReceivedMessage
    receipt_handle: str = attrs.field(repr=False)
    address: Any = attrs.field(repr=False)


def held(message: Any, broker: str, address: Any) -> HeldMessage:  # noqa: ANN401 - untyped client
    """Copy a message out of the protocol's form.

    Args:
        message: As it came.
        broker: Name of the broker that had it.
        address: Where it came from, as the client writes it.
    """
    system = message.system_properties
    return HeldMessage(
        ReceivedMessage(
            message_id=system.message_id,
            queue=Queue(message.topic.name, broker, system.queue_id),
            queue_offset=system.queue_offset,
            body=bytes(message.body),
            message_group=system.message_group,
            keys=tuple(system.keys),
            tag=system.tag,
            properties=dict(message.user_properties),
            delivery_attempt=max(1, system.delivery_attempt),
        ),
        system.receipt_handle,
        address,
    )
