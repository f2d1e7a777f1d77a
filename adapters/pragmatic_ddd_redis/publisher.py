"""Adding events to streams: many in one go, each confirmed or not.

events ──▶ XADD, XADD, XADD, ... and what the durability asks for ──▶ a receipt or an error each
"""

import time
from collections.abc import Iterator, Sequence

import attrs

from pragmatic_ddd.application.events import Addressee
from pragmatic_ddd.errors import (
    ConfigurationError,
    EventPublishError,
    EventUnconfirmedError,
)
from pragmatic_ddd.ports.events import Receipt
from pragmatic_ddd.ports.outbox_message import OutboxMessage
from pragmatic_ddd_redis.connections import Command, RedisConnections
from pragmatic_ddd_redis.durability import Confirmation, check_server
from pragmatic_ddd_redis.errors import (
    NoAnswerError,
    NotSentError,
    RefusedEventError,
    translated,
)
from pragmatic_ddd_redis.stream_entry import fields_of
from pragmatic_ddd_redis.streams import stream_of

_PIPELINE_BYTES = 1024 * 1024  # what is sent before answers are read
_NO_TIME_LEFT = "the time of this call was over before it could be sent"


@attrs.frozen
class Outgoing:
    """An event that is to be added.

    Attributes:
        message: The event as it was stored.
        topic: Where it goes.
        addressee: Whom it is for.
    """

    message: OutboxMessage
    topic: str
    addressee: Addressee


@attrs.frozen
class _Addition:
    """An event on its way: its place among those of the call, its stream, and its command."""

    place: int
    outgoing: Outgoing
    stream: str
    command: Command
    size_bytes: int

    def failed(self, error: Exception) -> EventPublishError:
        return translated(error, self.outgoing.message.message_id, self.outgoing.topic)


_Answer = Receipt | EventPublishError


@attrs.define(eq=False, kw_only=True)
class StreamPublisher:
    """Adds events to streams. Safe to share between threads.

    Attributes:
        connections: The server.
        confirmation: What a receipt is worth.
        partitions: How many streams a topic has.
        max_length: About how many entries a stream keeps; all, where ``None``.
        largest_body_bytes: A larger body is refused.
        source: Who sends, as the events say it.
    """

    connections: RedisConnections
    confirmation: Confirmation
    partitions: int
    max_length: int | None
    largest_body_bytes: int
    source: str
    _is_checked: bool = attrs.field(default=False, init=False)

    def check(self, *, until: float | None = None) -> None:
        """Make sure that the server's settings are those that the durability needs.

        Once they are, it does not ask again.

        Args:
            until: When to stop waiting; ``connections.deadline()``, where ``None``.

        Raises:
            ConfigurationError: They are not.
            NotSentError: The server cannot be reached.
            NoAnswerError: It does not answer.
        """
        if self._is_checked:
            return
        until = self.connections.deadline() if until is None else until
        check_server(self.connections, self.confirmation.profile, until=until)
        self._is_checked = True

    def publish(self, outgoing: Sequence[Outgoing]) -> list[_Answer]:
        """Add events, and return for each, in their order, its receipt or its error."""
        answers: dict[int, _Answer] = {}
        additions: list[_Addition] = []
        for place, one in enumerate(outgoing):
            try:
                additions.append(self._addition(place, one))
            except RefusedEventError as error:
                answers[place] = translated(error, one.message.message_id, one.topic)
        until = self.connections.deadline()
        obstacle = self._obstacle(until) if additions else None
        for pipeline in _pipelines(additions):
            if obstacle is None and time.monotonic() > until:
                obstacle = NotSentError(_NO_TIME_LEFT)
            if obstacle is not None:
                answers |= {each.place: each.failed(obstacle) for each in pipeline}
                continue
            answers |= self._answers(pipeline, until)
        return [answers[place] for place in range(len(outgoing))]

    def _addition(self, place: int, outgoing: Outgoing) -> _Addition:
        message = outgoing.message
        size = len(message.payload)
        if size > self.largest_body_bytes:
            raise RefusedEventError(
                f"a body of {size} bytes; at most {self.largest_body_bytes} are sent "
                f"(redis.largest-body-bytes)"
            )
        fields = fields_of(message, outgoing.addressee, source=self.source)
        stream = stream_of(outgoing.topic, message.aggregate_id, self.partitions)
        command = xadd(stream, fields, max_length=self.max_length)
        return _Addition(place, outgoing, stream, command, sum(map(len, fields)))

    def _obstacle(self, until: float) -> NotSentError | None:
        """Return why nothing can be sent: a server that is not as it must be, or not there."""
        try:
            self.check(until=until)
        except (ConfigurationError, NotSentError, NoAnswerError) as error:
            return NotSentError(str(error))
        return None

    def _answers(self, additions: Sequence[_Addition], until: float) -> dict[int, _Answer]:
        confirmation = self.confirmation.command
        commands = [each.command for each in additions]
        if confirmation is not None:
            commands.append(confirmation)
        try:
            answers = self.connections.exchange(commands, until=until)
        except NotSentError as error:
            return {each.place: each.failed(error) for each in additions}
        except NoAnswerError as error:
            # What was answered before is known, but for a confirmation that did not come.
            known = error.answers if confirmation is None else ()
            answers = [*known, *[error] * (len(additions) - len(known))]
            confirmation = None
        shortfall = None if confirmation is None else self.confirmation.shortfall(answers.pop())
        return {
            each.place: _judged(each, answer, shortfall)
            for each, answer in zip(additions, answers, strict=True)
        }


def xadd(stream: str, fields: Sequence[bytes], *, max_length: int | None) -> Command:
    """Return the command that adds an entry."""
    if max_length is None:
        return ("XADD", stream, "*", *fields)
    return ("XADD", stream, "MAXLEN", "~", max_length, "*", *fields)


def _pipelines(additions: Sequence[_Addition]) -> Iterator[list[_Addition]]:
    """Divide what is to be added into pieces that are sent before answers are read."""
    pipeline: list[_Addition] = []
    size = 0
    for each in additions:
        if pipeline and size + each.size_bytes > _PIPELINE_BYTES:
            yield pipeline
            pipeline, size = [], 0
        pipeline.append(each)
        size += each.size_bytes
    if pipeline:
        yield pipeline


def _judged(addition: _Addition, answer: object, shortfall: str | None) -> _Answer:
    if isinstance(answer, Exception):
        return addition.failed(answer)
    message_id, topic = addition.outgoing.message.message_id, addition.outgoing.topic
    if not isinstance(answer, bytes):
        return EventUnconfirmedError(message_id, topic, f"the server answered {answer!r}")
    if shortfall is not None:
        return EventUnconfirmedError(message_id, topic, shortfall)
    return Receipt(f"{answer.decode()} on {addition.stream}")
