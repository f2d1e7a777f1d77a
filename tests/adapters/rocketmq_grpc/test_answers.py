"""What the proxy's codes, and gRPC's own, mean to the outbox."""

from typing import Any

import pytest

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
)
from pragmatic_ddd_rocketmq_grpc.answers import failure, name_of, refusal
from pragmatic_ddd_rocketmq_grpc.client_library import load_client_library
from pragmatic_ddd_rocketmq_grpc.errors import translated

_FINAL = (
    "BAD_REQUEST ILLEGAL_DELIVERY_TIME ILLEGAL_MESSAGE_GROUP ILLEGAL_MESSAGE_ID "
    "ILLEGAL_MESSAGE_KEY ILLEGAL_MESSAGE_PROPERTY_KEY ILLEGAL_MESSAGE_TAG MESSAGE_BODY_EMPTY "
    "MESSAGE_BODY_TOO_LARGE MESSAGE_CORRUPTED MESSAGE_PROPERTIES_TOO_LARGE PAYLOAD_TOO_LARGE "
    "REQUEST_HEADER_FIELDS_TOO_LARGE UNSUPPORTED VERIFY_FIFO_MESSAGE_UNSUPPORTED "
    "VERSION_UNSUPPORTED"
)
_FOR_NOW = (
    "CLIENT_ID_REQUIRED FORBIDDEN ILLEGAL_ACCESS_POINT ILLEGAL_TOPIC "
    "MESSAGE_PROPERTY_CONFLICT_WITH_TYPE NOT_FOUND NOT_IMPLEMENTED PAYMENT_REQUIRED "
    "PRECONDITION_FAILED TOPIC_NOT_FOUND UNRECOGNIZED_CLIENT_TYPE"
)
_AWAY = "TOO_MANY_REQUESTS UNAUTHORIZED"
_UNKNOWN = (
    "CONSUMER_GROUP_NOT_FOUND HA_NOT_AVAILABLE INTERNAL_ERROR INTERNAL_SERVER_ERROR "
    "INVALID_RECEIPT_HANDLE MASTER_PERSISTENCE_TIMEOUT MULTIPLE_RESULTS PROXY_TIMEOUT "
    "REQUEST_TIMEOUT SLAVE_PERSISTENCE_TIMEOUT"
)
_MEANINGS: dict[str, type[EventPublishError]] = {
    **dict.fromkeys(_FINAL.split(), EventRejectedError),
    **dict.fromkeys(_FOR_NOW.split(), EventPublishError),
    **dict.fromkeys(_AWAY.split(), BrokerUnavailableError),
    **dict.fromkeys(_UNKNOWN.split(), EventUnconfirmedError),
}


@pytest.mark.parametrize(("code", "kind"), _MEANINGS.items(), ids=_MEANINGS)
def test_a_code_says_whether_to_try_again(code: str, kind: type[EventPublishError]) -> None:
    error = translated(refusal(code, "says the proxy", "topic t"), "event-1", "t")

    assert type(error) is kind
    assert error.retryable is (kind is not EventRejectedError)
    assert code in str(error)
    assert "says the proxy" in str(error)
    assert "topic t" in str(error)


def test_the_codes_are_codes_of_the_protocol() -> None:
    protocol = load_client_library().protocol

    assert set(_MEANINGS) <= set(protocol.Code.keys())


def test_a_code_of_a_newer_proxy_kills_no_event() -> None:
    protocol = load_client_library().protocol
    code = name_of(protocol, 49999)

    error = translated(refusal(code, "?", "topic t"), "event-1", "t")

    assert type(error) is EventUnconfirmedError
    assert "49999" in str(error)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("UNAVAILABLE", BrokerUnavailableError),
        ("UNAUTHENTICATED", BrokerUnavailableError),
        ("PERMISSION_DENIED", EventPublishError),
        ("UNIMPLEMENTED", EventPublishError),
        ("DEADLINE_EXCEEDED", EventUnconfirmedError),
        ("RESOURCE_EXHAUSTED", EventUnconfirmedError),
        ("INTERNAL", EventUnconfirmedError),
        ("UNKNOWN", EventUnconfirmedError),
        ("CANCELLED", EventUnconfirmedError),
    ],
)
def test_an_error_of_grpc_says_whether_to_try_again(
    code: str, kind: type[EventPublishError]
) -> None:
    error = translated(failure(_grpc_error(code), "topic t"), "event-1", "t")

    assert type(error) is kind
    assert code in str(error)
    assert "in the words of gRPC" in str(error)


def test_any_other_error_leaves_it_open() -> None:
    error = translated(failure(AttributeError("half a client"), "topic t"), "event-1", "t")

    assert type(error) is EventUnconfirmedError
    assert "half a client" in str(error)


@pytest.mark.parametrize("code", ["TOPIC_NOT_FOUND", "FORBIDDEN", "UNAUTHORIZED"])
def test_what_an_operator_can_mend_says_what_to_look_at(code: str) -> None:
    assert any(word in str(refusal(code, "", "topic t")) for word in ("create", "give", "look at"))


def _grpc_error(code: str) -> Exception:
    import grpc

    kind: Any = grpc.aio.AioRpcError
    nothing = grpc.aio.Metadata()
    error: Exception = kind(
        getattr(grpc.StatusCode, code), nothing, nothing, details="in the words of gRPC"
    )
    return error
