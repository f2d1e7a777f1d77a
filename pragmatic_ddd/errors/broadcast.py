"""Errors of messages for other systems."""

from typing import ClassVar

from pragmatic_ddd.errors.root import InfrastructureError


class BroadcastError(InfrastructureError):
    """A message for other systems was not sent.

    Attributes:
        message_type: Stable name of the message.
        message_id: Its id; the same call sends the same id again.
        reason: What went wrong.
    """

    def __init__(self, message_type: str, message_id: str, reason: str) -> None:
        super().__init__(message_type, message_id, reason)
        self.message_type = message_type
        self.message_id = message_id
        self.reason = reason

    def __str__(self) -> str:
        return f"cannot broadcast {self.message_type} {self.message_id}: {self.reason}"


class BroadcastEnvelopeError(BroadcastError):
    """The message cannot be written, or will never be taken; it was not sent.

    Retrying cannot help.
    """


class BroadcastSendError(BroadcastError):
    """The message was not confirmed. It may have been delivered: send it again."""

    retryable: ClassVar[bool] = True
