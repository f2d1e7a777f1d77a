"""A message in the form of the protocol."""

from typing import Any

from pragmatic_ddd_rocketmq_grpc.client_library import ClientLibrary
from pragmatic_ddd_rocketmq_grpc.outgoing_message import OutgoingMessage


def send_request(library: ClientLibrary, message: OutgoingMessage, namespace: str) -> Any:  # noqa: ANN401
    """Return the request that sends one message.

    Args:
        library: The client.
        message: What is sent.
        namespace: What the topic is part of; empty for none.
    """
    protocol = library.protocol
    request = protocol.SendMessageRequest()
    sent = request.messages.add()
    sent.topic.name = message.topic
    sent.topic.resource_namespace = namespace
    sent.body = message.body
    sent.user_properties.update({name: text for name, text in message.properties.items() if text})
    system = sent.system_properties
    system.message_id = library.message_ids().next_message_id()
    system.body_encoding = protocol.Encoding.IDENTITY
    system.born_timestamp.GetCurrentTime()
    system.tag = message.tag
    system.keys.append(message.key)
    if message.deliver_at is not None:
        system.message_type = protocol.MessageType.DELAY
        system.delivery_timestamp.FromDatetime(message.deliver_at)
    else:
        system.message_type = protocol.MessageType.FIFO
        system.message_group = message.message_group or ""
    return request
