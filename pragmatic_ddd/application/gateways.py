"""Gateways: calls of other systems in our own words, an anti-corruption layer.

our request ──convert──▶ theirs ──call──▶ their answer ──convert_back──▶ our answer

What they call things, and how they fail, ends here. The kind of gateway says what a missing
answer means: a query may be repeated, a write may have happened, an idempotent write may have
happened and may be repeated all the same.
"""

import socket
from collections.abc import Callable
from typing import Generic, TypeVar

import attrs

from pragmatic_ddd.application.arguments import can_be_called, in_words, of_type
from pragmatic_ddd.errors import (
    AclCommunicationError,
    AclConversionError,
    AclError,
    AclOutcomeUnknownError,
    AclRefusedError,
    DomainError,
)

RequestT = TypeVar("RequestT")
SentT = TypeVar("SentT")
ReceivedT = TypeVar("ReceivedT")
AnswerT = TypeVar("AnswerT")
ValueT = TypeVar("ValueT")

Failures = tuple[type[Exception], ...]

_NOT_CONVERTED = (
    ArithmeticError,
    AttributeError,
    DomainError,
    LookupError,
    TypeError,
    ValueError,
)


def _exceptions(_: object, attribute: "attrs.Attribute[Failures]", value: object) -> None:
    if not isinstance(value, tuple) or not all(
        isinstance(each, type) and issubclass(each, Exception) for each in value
    ):
        raise TypeError(f"{attribute.name} = {value!r}: give a tuple of classes of exceptions")


@attrs.frozen(kw_only=True)
class ExternalCall(Generic[RequestT, SentT, ReceivedT, AnswerT]):
    """One operation of another system. Safe to share between threads if its functions are.

    The first of the three tuples below that has a class of an exception says what it means; one
    that is in none is a mistake of the program, and passed on. The defaults know the standard
    library only: give those of the client that is used, or its timeouts are passed on, too.

    Attributes:
        system: Its name, such as ``billing``.
        operation: What it is asked for, such as ``charge``.
        convert: From our request to what is sent. Nothing has been sent while it runs.
        call: Sends it and returns the answer, within a time limit of its own; makes one try.
        convert_back: From the answer to ours; reading JSON belongs here, not into ``call``.
        refused: What ``call`` raises when the other system has understood, and says no.
        not_sent: What it raises when the other system has certainly not seen the request.
        no_answer: What it raises when it knows nothing: timeouts, connections that broke.
    """

    system: str = attrs.field(validator=in_words())
    operation: str = attrs.field(validator=in_words())
    convert: Callable[[RequestT], SentT] = attrs.field(validator=can_be_called())
    call: Callable[[SentT], ReceivedT] = attrs.field(validator=can_be_called())
    convert_back: Callable[[ReceivedT], AnswerT] = attrs.field(validator=can_be_called())
    refused: Failures = attrs.field(default=(), validator=_exceptions)
    not_sent: Failures = attrs.field(
        default=(ConnectionRefusedError, socket.gaierror), validator=_exceptions
    )
    no_answer: Failures = attrs.field(default=(OSError,), validator=_exceptions)

    def make(self, request: RequestT, *, unanswered: type[AclError]) -> AnswerT:
        """Convert, call, convert back. Gateways use it, with what no answer means to them.

        Raises:
            AclConversionError: Our request cannot be said in their words, and was not sent; or
                they have done what was asked, and their answer cannot be understood.
            AclError: As ``ask``.
        """
        sent = self._converted("request", lambda: self.convert(request))
        received = self.ask(lambda: self.call(sent), unanswered=unanswered)
        return self.understand(received, unanswered=unanswered)

    def ask(self, question: Callable[[], ValueT], *, unanswered: type[AclError]) -> ValueT:
        """Call a function that calls the other system, and translate how it fails.

        Raises:
            AclRefusedError: The other system says no.
            AclCommunicationError: It has not seen the request.
            AclError: Of the given class: there is no answer.
        """
        try:
            return question()
        except self.refused as error:
            raise self._error(AclRefusedError, error) from error
        except self.not_sent as error:
            raise self._error(AclCommunicationError, error) from error
        except self.no_answer as error:
            raise self._error(unanswered, error) from error

    def understand(self, received: ReceivedT, *, unanswered: type[AclError]) -> AnswerT:
        """Convert an answer back.

        Raises:
            AclConversionError: It cannot be understood.
            AclError: Of the given class: it broke off while it was read.
        """
        try:
            return self._converted("answer", lambda: self.convert_back(received))
        except (*self.not_sent, *self.no_answer) as error:  # sent it was, whatever the error says
            raise self._error(unanswered, error) from error

    def _converted(self, what: str, conversion: Callable[[], ValueT]) -> ValueT:
        try:
            return conversion()
        except _NOT_CONVERTED as error:
            raise AclConversionError(
                self.system, self.operation, f"the {what} cannot be converted: {_said(error)}"
            ) from error

    def _error(self, kind: type[AclError], error: Exception) -> AclError:
        return kind(self.system, self.operation, _said(error))


@attrs.frozen
class QueryGateway(Generic[RequestT, SentT, ReceivedT, AnswerT]):
    """Asks, and changes nothing: without an answer it may be asked again."""

    external: ExternalCall[RequestT, SentT, ReceivedT, AnswerT] = attrs.field(
        validator=of_type(ExternalCall)
    )

    def query(self, request: RequestT) -> AnswerT:
        """Return the other system's answer.

        Raises:
            AclConversionError: Request or answer cannot be converted.
            AclRefusedError: The other system says no.
            AclCommunicationError: No answer; ask again.
        """
        return self.external.make(request, unanswered=AclCommunicationError)


@attrs.frozen
class WriteGateway(Generic[RequestT, SentT, ReceivedT, AnswerT]):
    """Changes something, each time anew: without an answer nobody may simply repeat it."""

    external: ExternalCall[RequestT, SentT, ReceivedT, AnswerT] = attrs.field(
        validator=of_type(ExternalCall)
    )

    def write(self, request: RequestT) -> AnswerT:
        """Have the other system do something; return what it answers.

        Raises:
            AclConversionError: The request cannot be converted, and nothing was done; or the
                answer cannot be, and it was done.
            AclRefusedError: The other system says no; nothing was done.
            AclCommunicationError: It has not seen the request; repeat it.
            AclOutcomeUnknownError: No answer; it may have been done.
        """
        return self.external.make(request, unanswered=AclOutcomeUnknownError)


@attrs.frozen
class IdempotentWriteGateway(Generic[RequestT, SentT, ReceivedT, AnswerT]):
    """Changes something at most once for one key, however often it is repeated.

    The key is part of the request: an event's id, an order's. The other system drops what it has
    seen; or it does not, and ``find`` asks it before each write. The latter lets two callers in
    that ask at the same time, both before either writes.

    Attributes:
        external: The write.
        find: What the other system answered to this request before, or ``None``; it fails in
            the ways that ``external`` knows.
    """

    external: ExternalCall[RequestT, SentT, ReceivedT, AnswerT] = attrs.field(
        validator=of_type(ExternalCall)
    )
    find: Callable[[RequestT], ReceivedT | None] | None = attrs.field(
        default=None, validator=attrs.validators.optional(can_be_called()), kw_only=True
    )

    def write(self, request: RequestT) -> AnswerT:
        """Have the other system do something, unless it has done so; return what it answers.

        Raises:
            AclConversionError: The request cannot be converted, and nothing was done; or the
                answer cannot be, and it was done.
            AclRefusedError: The other system says no; nothing was done.
            AclCommunicationError: No answer; it may have been done: repeat it.
        """
        find = self.find
        if find is not None:
            found = self.external.ask(lambda: find(request), unanswered=AclCommunicationError)
            if found is not None:
                return self.external.understand(found, unanswered=AclCommunicationError)
        return self.external.make(request, unanswered=AclCommunicationError)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
