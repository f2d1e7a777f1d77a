"""Sending messages: one call of the protocol for each, and what its answer means.

Many are under way at once. They run on the thread that all clients of a process share.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import attrs

from pragmatic_ddd_rocketmq_grpc.answers import OK, failure, name_of, refusal
from pragmatic_ddd_rocketmq_grpc.channel_renewal import ChannelRenewal
from pragmatic_ddd_rocketmq_grpc.connection import Connection
from pragmatic_ddd_rocketmq_grpc.errors import NotAvailableError, NotConfirmedError, SendError
from pragmatic_ddd_rocketmq_grpc.outgoing_message import OutgoingMessage

_SHORTEST_SEND_SECONDS = 0.05


@attrs.frozen(kw_only=True)
class SendReceipt:
    """What the proxy answered to a message that the broker has stored.

    Attributes:
        message_id: The id that the client gave it.
        queue_offset: Its place in its queue. Which queue that is, the answer does not say.
    """

    message_id: str
    queue_offset: int


@attrs.frozen
class Send:
    """One message on its way.

    Attributes:
        message: The message.
        address: Where it is sent, as the client writes it.
        request: What is sent, in the form of the protocol.
    """

    message: OutgoingMessage
    address: Any
    request: Any


@attrs.frozen(kw_only=True)
class Sending:
    """Sends through one client.

    Attributes:
        connection: How the client reaches the proxy.
        client: The client.
        channels: What is known of its connections.
        window: How many messages of one call are under way at once.
    """

    connection: Connection
    client: Any
    channels: ChannelRenewal
    window: int

    async def send_all(
        self, sends: Sequence[Send], deadline: float
    ) -> list[SendReceipt | SendError]:
        """Send all of them, a window at a time, and return what became of each, in their order.

        Args:
            sends: Messages of different groups.
            deadline: Reading of the monotonic clock at which all must be over.
        """
        window = asyncio.Semaphore(self.window)

        async def sent(send: Send) -> SendReceipt | SendError:
            async with window:
                return await self._send_one(send, deadline)

        return list(await asyncio.gather(*map(sent, sends)))

    async def _send_one(self, send: Send, deadline: float) -> SendReceipt | SendError:
        seconds = min(self.connection.timeout.total_seconds(), deadline - time.monotonic())
        where = f"topic {send.message.topic} at {send.address}"
        if seconds < _SHORTEST_SEND_SECONDS:
            return NotAvailableError(f"not sent, for those before it took too long ({where})")
        try:
            response = await self.connection.stub(self.client, send.address).SendMessage(
                send.request, metadata=self.client.sign(), timeout=seconds
            )
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return NotConfirmedError(f"the connection was closed meanwhile ({where})")
        except Exception as error:  # noqa: BLE001 - gRPC's, or the client's
            self.channels.failed(send.address)
            return failure(error, where)
        self.channels.answered(send.address)
        return self._answer(response, where)

    def _answer(self, response: Any, where: str) -> SendReceipt | SendError:  # noqa: ANN401
        protocol = self.connection.library.protocol
        entry = response.entries[0] if response.entries else None
        for status in (response.status, *([] if entry is None else [entry.status])):
            code = name_of(protocol, status.code)
            if code != OK:
                return refusal(code, status.message, where)
        if entry is None:
            return NotConfirmedError(f"an answer without a receipt ({where})")
        return SendReceipt(message_id=entry.message_id, queue_offset=entry.offset)
