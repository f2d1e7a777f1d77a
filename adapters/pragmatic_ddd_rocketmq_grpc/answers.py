"""What the answers of a proxy mean: its status codes, and the errors of gRPC itself.

One table for each, because the client's own exceptions mix what is final with what is not: to it
a code of a newer proxy is "unsupported", and an unknown topic looks like a dead proxy.
"""

from collections.abc import Mapping
from typing import Any, Final

from pragmatic_ddd_rocketmq_grpc.errors import (
    NotAvailableError,
    NotConfirmedError,
    RefusedForNowError,
    RefusedMessageError,
    SendError,
)

OK: Final = "OK"
DEAF: Final = "INTERNAL_SERVER_ERROR"  # among others: it has forgotten the client's settings
NO_MESSAGE: Final = "MESSAGE_NOT_FOUND"
NO_LONGER_OURS: Final = "INVALID_RECEIPT_HANDLE"

_UNNAMED: Final = "a code that this client does not know"

_FINAL: Final = frozenset(
    {
        "BAD_REQUEST",
        "ILLEGAL_DELIVERY_TIME",
        "ILLEGAL_MESSAGE_GROUP",
        "ILLEGAL_MESSAGE_ID",
        "ILLEGAL_MESSAGE_KEY",
        "ILLEGAL_MESSAGE_PROPERTY_KEY",
        "ILLEGAL_MESSAGE_TAG",
        "MESSAGE_BODY_EMPTY",
        "MESSAGE_BODY_TOO_LARGE",
        "MESSAGE_CORRUPTED",
        "MESSAGE_PROPERTIES_TOO_LARGE",
        "PAYLOAD_TOO_LARGE",
        "REQUEST_HEADER_FIELDS_TOO_LARGE",
        "UNSUPPORTED",
        "VERIFY_FIFO_MESSAGE_UNSUPPORTED",
        "VERSION_UNSUPPORTED",
    }
)

# What an operator mends: beside the code, what to look at.
_FOR_NOW: Final[Mapping[str, str]] = {
    "CLIENT_ID_REQUIRED": "does the address belong to a RocketMQ proxy?",
    "FORBIDDEN": "give the account the permission for this topic",
    "ILLEGAL_ACCESS_POINT": "look at rocketmq-grpc.endpoints",
    "ILLEGAL_TOPIC": "look at the topic's name, and at rocketmq-grpc.namespace",
    "MESSAGE_PROPERTY_CONFLICT_WITH_TYPE": (
        "events need a topic of type FIFO, delayed copies one of type DELAY: "
        "mqadmin updateTopic ... -a +message.type=FIFO"
    ),
    "NOT_FOUND": "create the topic",
    "NOT_IMPLEMENTED": "does the address belong to a RocketMQ proxy?",
    "PAYMENT_REQUIRED": "ask whoever runs the brokers",
    "PRECONDITION_FAILED": "ask whoever runs the brokers",
    "TOPIC_NOT_FOUND": "create the topic, with type FIFO; a proxy creates none",
    "UNRECOGNIZED_CLIENT_TYPE": "does the address belong to a RocketMQ proxy?",
}

# No single event's fault.
_AWAY: Final[Mapping[str, str]] = {
    "TOO_MANY_REQUESTS": "the broker is busy",
    "UNAUTHORIZED": "look at rocketmq-grpc.access-key and secret-key",
}

_GRPC_FOR_NOW: Final[Mapping[str, str]] = {
    "PERMISSION_DENIED": "give the account the permission for this topic",
    "UNIMPLEMENTED": "does the address belong to a RocketMQ proxy?",
}
_GRPC_AWAY: Final[Mapping[str, str]] = {
    "UNAUTHENTICATED": "look at rocketmq-grpc.access-key and secret-key",
    "UNAVAILABLE": "no connection",
}


def name_of(protocol: Any, code: int) -> str:  # noqa: ANN401 - the client ships no types
    """Return the name of a status code, as RocketMQ writes it."""
    try:
        return str(protocol.Code.Name(code))
    except ValueError:
        return f"{_UNNAMED} ({code})"


def refusal(code: str, text: str, where: str) -> SendError:
    """Return the error for a status that is not ``OK``.

    Args:
        code: Its name.
        text: What the proxy says about it.
        where: Where the message was going, for people.
    """
    said = f"{code} ({where}): {' '.join(text.split())}"
    if code in _FINAL:
        return RefusedMessageError(said)
    if code in _FOR_NOW:
        return RefusedForNowError(f"{said}; {_FOR_NOW[code]}")
    if code in _AWAY:
        return NotAvailableError(f"{said}; {_AWAY[code]}")
    return NotConfirmedError(said)


def failure(error: Exception, where: str) -> SendError:
    """Return the error for a call that brought no status.

    Args:
        error: What gRPC raised, or the client.
        where: Where the message was going, for people.
    """
    code = grpc_code_of(error)
    if code is None:
        return NotConfirmedError(f"{type(error).__name__} ({where}): {error}")
    said = f"gRPC {code} ({where}): {text_of(error)}"
    if code in _GRPC_FOR_NOW:
        return RefusedForNowError(f"{said}; {_GRPC_FOR_NOW[code]}")
    if code in _GRPC_AWAY:
        return NotAvailableError(f"{said}; {_GRPC_AWAY[code]}")
    return NotConfirmedError(said)


def text_of(error: BaseException) -> str:
    """Return what an error says; of gRPC's own only that, and not the whole of its state."""
    details: Any = getattr(error, "details", None)
    return str(details() if callable(details) else error)


def grpc_code_of(error: BaseException) -> str | None:
    """Return the name of gRPC's own code; ``None`` where the error is no answer of gRPC."""
    code: Any = getattr(error, "code", None)
    name: object = getattr(code(), "name", None) if callable(code) else None
    return name if isinstance(name, str) else None
