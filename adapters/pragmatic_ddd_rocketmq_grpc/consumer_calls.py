"""The calls of the protocol by which a consumer asks for messages, and says what became of them.

Each is made once, with one deadline, on the client's own connection. They run on the thread that
all clients of a process share.
"""

import asyncio
import datetime as dt
from collections.abc import Sequence
from typing import Any, Final

import attrs

from pragmatic_ddd_rocketmq_grpc.answers import (
    DEAF,
    NO_LONGER_OURS,
    NO_MESSAGE,
    OK,
    grpc_code_of,
    name_of,
    text_of,
)
from pragmatic_ddd_rocketmq_grpc.connection import Connection
from pragmatic_ddd_rocketmq_grpc.received_message import HeldMessage, held
from pragmatic_ddd_rocketmq_grpc.standstill import Standstill

_SHORTEST_POLL: Final = dt.timedelta(seconds=5)  # a proxy waits for so long, whatever it is told
_EVERYTHING: Final = "*"  # members of a group must subscribe alike, also in a rolling deploy


class ReceivingError(Exception):
    """The proxy did not do what was asked of it.

    Attributes:
        code: Its code, or gRPC's.
        text: What it says.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text

    def __str__(self) -> str:
        return f"{self.code}: {self.text}"

    @property
    def is_deaf(self) -> bool:
        """Whether the proxy may have forgotten this client."""
        return self.code == DEAF

    @property
    def is_too_late(self) -> bool:
        """Whether the message is no longer this process's, so that asking again is useless."""
        return self.code == NO_LONGER_OURS


@attrs.frozen
class Batch:
    """What one request has brought.

    Attributes:
        messages: In the order of each queue; empty where none came in time.
        arrived_at: Reading of the monotonic clock; from then on, at the latest, they are ours.
    """

    messages: Sequence[HeldMessage]
    arrived_at: float


@attrs.frozen(kw_only=True)
class ConsumerCalls:
    """Makes the calls for a consumer group; the client is whichever the group has now.

    Attributes:
        connection: How to reach the proxy.
        group: The consumer group.
        invisible_time: How long a message that was given out is nobody else's.
        long_poll: How long a request waits for messages; the proxy's own bounds are 5 s and 20 s.
    """

    connection: Connection
    group: str
    invisible_time: dt.timedelta
    long_poll: dt.timedelta

    @property
    def longest_poll(self) -> dt.timedelta:
        """How long a request may be under way; without the way to the proxy and back."""
        return max(self.long_poll, _SHORTEST_POLL)

    async def receive(self, client: Any, topic: str, queue: Any, most: int) -> Batch:  # noqa: ANN401
        """Ask a broker for messages, and wait for some.

        Raises:
            ReceivingError: None came, and not because there are none.
        """
        protocol = self.connection.library.protocol
        request = protocol.ReceiveMessageRequest()
        request.group.name = self.group
        request.group.resource_namespace = self.connection.namespace
        request.message_queue.CopyFrom(queue.message_queue0())
        request.filter_expression.type = protocol.FilterType.TAG
        request.filter_expression.expression = _EVERYTHING
        request.batch_size = most
        request.invisible_duration.FromTimedelta(self.invisible_time)
        request.long_polling_timeout.FromTimedelta(self.long_poll)
        request.auto_renew = False
        broker = request.message_queue.broker.name
        seconds = (self.longest_poll + self.connection.timeout).total_seconds()
        found: list[HeldMessage] = []
        status, call = None, None
        standstill = Standstill()
        watching = asyncio.ensure_future(standstill.watch())
        try:
            call = self.connection.stub(client, queue.endpoints).ReceiveMessage(
                request, metadata=client.sign(), timeout=seconds
            )
            async for response in call:
                if response.HasField("status"):
                    status = response.status
                elif response.HasField("message"):
                    found.append(held(response.message, broker, queue.endpoints))
        except asyncio.CancelledError:
            if call is not None:
                call.cancel()
            raise
        except Exception as error:
            if not found:  # those that came are this process's, whatever became of the rest
                raise _error_of(error) from error
        finally:
            watching.cancel()
        if status is not None:
            self._check(status, allowed=(OK, NO_MESSAGE))
        return Batch(found, standstill.arrival())

    async def acknowledge(self, client: Any, message: HeldMessage) -> None:  # noqa: ANN401
        """Tell that a message is done with.

        Raises:
            ReceivingError: The proxy did not confirm it.
        """
        request = self.connection.library.protocol.AckMessageRequest()
        request.group.name = self.group
        request.group.resource_namespace = self.connection.namespace
        request.topic.name = message.message.topic
        request.topic.resource_namespace = self.connection.namespace
        entry = request.entries.add()
        entry.message_id = message.message.message_id
        entry.receipt_handle = message.receipt_handle
        response = await self._asked(client, message, "AckMessage", request)
        for each in (response.status, *(entry.status for entry in response.entries)):
            self._check(each)

    async def extend(self, client: Any, message: HeldMessage, by: dt.timedelta) -> None:  # noqa: ANN401
        """Have a message be nobody else's for a time from now on, and note its new handle.

        Raises:
            ReceivingError: The proxy did not confirm it.
        """
        request = self.connection.library.protocol.ChangeInvisibleDurationRequest()
        request.group.name = self.group
        request.group.resource_namespace = self.connection.namespace
        request.topic.name = message.message.topic
        request.topic.resource_namespace = self.connection.namespace
        request.message_id = message.message.message_id
        request.receipt_handle = message.receipt_handle
        request.invisible_duration.FromTimedelta(by)
        response = await self._asked(client, message, "ChangeInvisibleDuration", request)
        self._check(response.status)
        message.receipt_handle = response.receipt_handle or message.receipt_handle

    async def _asked(self, client: Any, message: HeldMessage, call: str, request: Any) -> Any:  # noqa: ANN401
        try:
            stub = self.connection.stub(client, message.address)
            seconds = self.connection.timeout.total_seconds()
            return await getattr(stub, call)(request, metadata=client.sign(), timeout=seconds)
        except Exception as error:
            raise _error_of(error) from error

    def _check(self, status: Any, *, allowed: Sequence[str] = (OK,)) -> None:  # noqa: ANN401
        code = name_of(self.connection.library.protocol, status.code)
        if code not in allowed:
            raise ReceivingError(code, status.message)


def _error_of(error: Exception) -> ReceivingError:
    return ReceivingError(grpc_code_of(error) or type(error).__name__, text_of(error))
