"""What a type checker must see of gateways; nothing executes it.

Each ``type: ignore`` states a mistake that must be refused: mypy warns of one that is not needed.
"""

from typing import assert_type

import attrs

from pragmatic_ddd.application.gateways import ExternalCall, IdempotentWriteGateway, QueryGateway


@attrs.frozen
class Charge:
    cents: int


def to_text(charge: Charge) -> str:
    return str(charge.cents)


def send(text: str) -> bytes:
    return text.encode()


def to_number(received: bytes) -> int:
    return len(received)


def to_text_again(received: str) -> int:
    return len(received)


def a_gateway_has_the_types_of_its_functions() -> None:
    call = ExternalCall(
        system="billing", operation="charge", convert=to_text, call=send, convert_back=to_number
    )
    assert_type(call, ExternalCall[Charge, str, bytes, int])
    assert_type(QueryGateway(call).query(Charge(1)), int)
    assert_type(IdempotentWriteGateway(call).write(Charge(1)), int)
    QueryGateway(call).query("charge")  # type: ignore[arg-type]


def what_is_received_is_what_is_converted_back() -> None:
    call: ExternalCall[Charge, str, bytes, int] = ExternalCall(
        system="billing",
        operation="charge",
        convert=to_text,
        call=send,
        convert_back=to_text_again,  # type: ignore[arg-type]
    )
    print(call)
