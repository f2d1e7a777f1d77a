"""An event of another system, as this one reads it: by the contract's name, in a class of its own.

    class OrderPaid(IntegrationEvent, name="shop.order-paid", version=1):
        total: Decimal

The sender's class is not needed. What every event has beside its facts is taken from the message
that brings it, so its body need not have it.
"""

import attrs

from pragmatic_ddd.domain.events import DomainEvent, is_text_id


def _said_by_a_message(event: object, attribute: "attrs.Attribute[str]", value: object) -> None:
    if value != "":
        is_text_id(event, attribute, value)


class IntegrationEvent(DomainEvent):
    """What another system has told. Subclass it with the ``name`` that the contract says.

    It is registered and subscribed to like any event. The fields are those members of the body
    that are wanted; others are passed over.

    Attributes:
        aggregate_id: What it is about; empty until a message has brought it. Like ``event_id``,
            ``operation_code``, ``aggregate_version`` and ``event_index`` it is what the message
            says, whatever stands in the body.
        occurred_at: When it happened. Where neither message nor body say so, when it was read.
    """

    aggregate_id: str = attrs.field(default="", validator=_said_by_a_message)
