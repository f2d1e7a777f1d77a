"""A messenger that keeps a list, and calls who has subscribed in this process."""

from collections.abc import Callable

import attrs

from pragmatic_ddd.application.arguments import check_words
from pragmatic_ddd.errors import BroadcastSendError
from pragmatic_ddd.ports import AggregateMessageEnvelope, Receipt

Handler = Callable[[AggregateMessageEnvelope], object]


@attrs.frozen
class Broadcast:
    """A message that was sent, and where to.

    Attributes:
        topic: The topic.
        envelope: The message.
    """

    topic: str
    envelope: AggregateMessageEnvelope


@attrs.define(eq=False)
class InMemoryBroadcastMessenger:
    """Brings messages to handlers in this process, before ``send`` returns; for tests.

    If a handler fails, the others are called all the same, and sending fails.

    Attributes:
        sent: What was confirmed, in that order.
    """

    sent: list[Broadcast] = attrs.field(factory=list, init=False)
    _handlers: dict[str, list[Handler]] = attrs.field(factory=dict, init=False)

    def subscribe(self, topic: str, handler: Handler) -> None:
        """Have a handler called with each message to a topic: another system, played in a test."""
        check_words("topic", topic)
        if not callable(handler):
            raise TypeError(f"handler = {handler!r}: give a function")
        self._handlers.setdefault(topic, []).append(handler)

    def send(self, topic: str, envelope: AggregateMessageEnvelope) -> Receipt:
        check_words("topic", topic)
        errors = [
            error
            for handler in self._handlers.get(topic, [])
            if (error := _called(handler, envelope)) is not None
        ]
        if errors:
            reason = "; ".join(f"{type(error).__name__}: {error}" for error in errors)
            raise BroadcastSendError(
                envelope.message_type, envelope.message_id, f"handlers failed: {reason}"
            ) from errors[0]
        self.sent.append(Broadcast(topic, envelope))
        return Receipt(f"in-process: {topic}, {len(self.sent)}")


def _called(handler: Handler, envelope: AggregateMessageEnvelope) -> Exception | None:
    try:
        handler(envelope)
    except Exception as error:  # noqa: BLE001  # another system's outermost frame: see send
        return error
    return None
