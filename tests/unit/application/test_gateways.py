from collections.abc import Callable
from typing import Any

import attrs
import pytest

from pragmatic_ddd.application.gateways import (
    ExternalCall,
    IdempotentWriteGateway,
    QueryGateway,
    WriteGateway,
)
from pragmatic_ddd.errors import (
    AclCommunicationError,
    AclConversionError,
    AclError,
    AclOutcomeUnknownError,
    AclRefusedError,
    DomainError,
)


@attrs.frozen
class Charge:
    order_id: str
    cents: int


class PaymentRequiredError(Exception):
    """What the client of the other system raises when it says no."""


@attrs.define
class Billing:
    """The other system: it charges, and then may fail to say so."""

    failure: Exception | None = None
    charged: dict[str, dict[str, str]] = attrs.field(factory=dict)
    calls: int = 0

    def post(self, sent: dict[str, str]) -> dict[str, str]:
        self.calls += 1
        if isinstance(self.failure, (ConnectionRefusedError, PaymentRequiredError)):
            raise self.failure
        self.charged[sent["key"]] = {"receipt": f"R{self.calls}"}
        if self.failure is not None:
            raise self.failure
        return self.charged[sent["key"]]

    def find(self, charge: Charge) -> dict[str, str] | None:
        return self.charged.get(charge.order_id)


Call = ExternalCall[Charge, dict[str, str], dict[str, str], str]


def external(billing: Billing, **changes: Any) -> Call:  # noqa: ANN401
    call: Call = ExternalCall(
        system="billing",
        operation="charge",
        convert=lambda charge: {"key": charge.order_id, "cents": str(charge.cents)},
        call=billing.post,
        convert_back=lambda received: received["receipt"],
        refused=(PaymentRequiredError,),
    )
    return attrs.evolve(call, **changes)


_CHARGE = Charge("order-1", 1250)
_KINDS: dict[str, Callable[[Call], Callable[[Charge], str]]] = {
    "query": lambda call: QueryGateway(call).query,
    "write": lambda call: WriteGateway(call).write,
    "idempotent write": lambda call: IdempotentWriteGateway(call).write,
}


@pytest.fixture(params=_KINDS.values(), ids=list(_KINDS))
def gateway(request: pytest.FixtureRequest) -> Callable[[Call], Callable[[Charge], str]]:
    kind: Callable[[Call], Callable[[Charge], str]] = request.param
    return kind


def test_request_and_answer_are_converted(
    gateway: Callable[[Call], Callable[[Charge], str]],
) -> None:
    billing = Billing()

    assert gateway(external(billing))(_CHARGE) == "R1"
    assert list(billing.charged) == ["order-1"]


@pytest.mark.parametrize("error", [TimeoutError("read"), ConnectionRefusedError("redirected")])
def test_an_answer_that_breaks_off_while_it_is_read_is_no_answer(error: OSError) -> None:
    call = external(Billing(), convert_back=raising(error))

    with pytest.raises(AclCommunicationError):
        QueryGateway(call).query(_CHARGE)
    with pytest.raises(AclOutcomeUnknownError) as caught:
        WriteGateway(call).write(_CHARGE)
    assert caught.value.__cause__ is error
    for find in (None, lambda _: {"receipt": "R1"}):
        with pytest.raises(AclCommunicationError):
            IdempotentWriteGateway(call, find=find).write(_CHARGE)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (DomainError("no currency"), "DomainError: no currency"),
        (KeyError("amount"), "KeyError: 'amount'"),
        (ValueError("no number"), "ValueError: no number"),
        (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"),
        (AttributeError("no x"), "AttributeError: no x"),
        (TypeError("no text"), "TypeError: no text"),
    ],
)
def test_a_request_that_cannot_be_converted_is_not_sent(
    gateway: Callable[[Call], Callable[[Charge], str]], error: Exception, said: str
) -> None:
    billing = Billing()

    with pytest.raises(AclConversionError) as caught:
        gateway(external(billing, convert=raising(error)))(_CHARGE)

    assert str(caught.value) == f"billing, charge: the request cannot be converted: {said}"
    assert caught.value.__cause__ is error
    assert not caught.value.retryable
    assert billing.calls == 0


def test_an_answer_that_cannot_be_converted_is_named_after_the_call(
    gateway: Callable[[Call], Callable[[Charge], str]],
) -> None:
    billing = Billing()

    with pytest.raises(AclConversionError, match="the answer cannot be converted: KeyError"):
        gateway(external(billing, convert_back=lambda received: received["number"]))(_CHARGE)

    assert billing.calls == 1


def test_a_refusal_is_final(gateway: Callable[[Call], Callable[[Charge], str]]) -> None:
    refusal = PaymentRequiredError("no credit")

    with pytest.raises(AclRefusedError) as caught:
        gateway(external(Billing(refusal)))(_CHARGE)

    assert str(caught.value) == "billing, charge: PaymentRequiredError: no credit"
    assert (caught.value.system, caught.value.operation) == ("billing", "charge")
    assert caught.value.__cause__ is refusal
    assert not caught.value.retryable


def test_what_was_not_sent_may_be_repeated(
    gateway: Callable[[Call], Callable[[Charge], str]],
) -> None:
    with pytest.raises(AclCommunicationError) as caught:
        gateway(external(Billing(ConnectionRefusedError("nobody there"))))(_CHARGE)

    assert caught.value.retryable


@pytest.mark.parametrize(
    ("kind", "expected", "retryable"),
    [
        ("query", AclCommunicationError, True),
        ("write", AclOutcomeUnknownError, False),
        ("idempotent write", AclCommunicationError, True),
    ],
)
def test_without_an_answer_the_kind_of_gateway_says_whether_to_repeat(
    kind: str, expected: type[AclError], retryable: bool
) -> None:
    with pytest.raises(AclError) as caught:
        _KINDS[kind](external(Billing(TimeoutError("no answer"))))(_CHARGE)

    assert type(caught.value) is expected
    assert caught.value.retryable is retryable


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        (["refused", "not_sent", "no_answer"], AclRefusedError),
        (["not_sent", "no_answer"], AclCommunicationError),
        (["no_answer"], AclOutcomeUnknownError),
    ],
)
def test_what_is_on_several_lists_means_what_the_first_says(
    lists: list[str], expected: type[AclError]
) -> None:
    nowhere: dict[str, object] = {"refused": (), "not_sent": (), "no_answer": ()}
    call = external(Billing(BrokenPipeError()), **nowhere | dict.fromkeys(lists, (OSError,)))

    with pytest.raises(AclError) as caught:
        WriteGateway(call).write(_CHARGE)

    assert type(caught.value) is expected


def test_an_unknown_exception_is_passed_on(
    gateway: Callable[[Call], Callable[[Charge], str]],
) -> None:
    with pytest.raises(ZeroDivisionError):
        gateway(external(Billing(ZeroDivisionError())))(_CHARGE)


def test_an_error_of_a_gateway_is_passed_on(
    gateway: Callable[[Call], Callable[[Charge], str]],
) -> None:
    inner = AclRefusedError("bank", "debit", "no")

    with pytest.raises(AclRefusedError) as caught:
        gateway(external(Billing(inner)))(_CHARGE)

    assert caught.value is inner


def test_a_repeated_write_finds_what_was_done() -> None:
    billing = Billing(TimeoutError("no answer"))
    gateway = IdempotentWriteGateway(external(billing), find=billing.find)

    with pytest.raises(AclCommunicationError):
        gateway.write(_CHARGE)

    assert gateway.write(_CHARGE) == "R1"
    assert billing.calls == 1


def test_a_search_that_fails_is_an_error_and_nothing_is_written() -> None:
    billing = Billing()
    gateway = IdempotentWriteGateway(external(billing), find=raising(TimeoutError("no answer")))

    with pytest.raises(AclCommunicationError, match="TimeoutError: no answer"):
        gateway.write(_CHARGE)

    assert billing.calls == 0


def test_what_was_found_may_not_be_understood() -> None:
    gateway = IdempotentWriteGateway(external(Billing()), find=lambda _: {})

    with pytest.raises(AclConversionError, match="the answer cannot be converted"):
        gateway.write(_CHARGE)


@pytest.mark.parametrize(
    ("field", "wrong", "rule"),
    [
        ("system", " ", "say it, in words"),
        ("operation", 5, "give a str"),
        ("convert", None, "give a function"),
        ("call", "post", "give a function"),
        ("convert_back", {}, "give a function"),
        ("refused", ValueError, "give a tuple of classes of exceptions"),
        ("not_sent", (KeyboardInterrupt,), "give a tuple of classes of exceptions"),
        ("no_answer", ("OSError",), "give a tuple of classes of exceptions"),
    ],
)
def test_a_call_is_checked_when_it_is_made(field: str, wrong: object, rule: str) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"^{field} = .*: {rule}$"):
        external(Billing(), **{field: wrong})


def test_a_gateway_is_made_of_a_call() -> None:
    wrong: Any = Billing().post

    for kind in (QueryGateway, WriteGateway, IdempotentWriteGateway):
        with pytest.raises(TypeError, match=r"^external = "):
            kind(wrong)
    with pytest.raises(TypeError, match=r"^find = 5: give a function$"):
        IdempotentWriteGateway(external(Billing()), find=5)  # type: ignore[arg-type]


def raising(error: Exception) -> Callable[[Any], Any]:
    def function(_: object) -> object:
        raise error

    return function
