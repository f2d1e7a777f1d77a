"""Connections to one Redis server: commands go out together, and each is answered or not.

        ┌── NotSentError: there is no connection
exchange┤── NoAnswerError: sent, and not all of it answered
        └── the answers, in order; an error reply is an answer

Nothing is repeated: redis-py would send commands once more by itself, and add events twice. Every
wait has an end, which is why answers are read here and not by redis-py's own pipeline: there each
of two hundred answers may take as long as the socket allows.
"""

import datetime as dt
import threading
import time
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import attrs
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from pragmatic_ddd_redis.errors import NoAnswerError, NotSentError, RefusedCommandError, said

Command: TypeAlias = Sequence[bytes | str | int]

_RESP2 = 2
_FAILURES = (redis.ConnectionError, redis.TimeoutError, OSError)


class _IConnection(Protocol):
    """The part of redis-py's connections that is used here; redis-py declares no types for it."""

    deadline: float

    def connect(self) -> None: ...

    def disconnect(self) -> None: ...

    def can_read(self, timeout: float = 0) -> bool: ...

    def pack_commands(self, commands: Sequence[Command]) -> list[bytes]: ...

    def send_packed_command(self, command: list[bytes], *, check_health: bool) -> None: ...

    def read_response(self) -> object: ...


class _Bounded:
    """Adds an end to waiting for answers, those to the greeting of a new connection included."""

    deadline: float = 0.0

    def read_response(self, *arguments: Any, **options: Any) -> object:  # noqa: ANN401
        this: Any = self
        if not this.can_read(timeout=max(0.0, self.deadline - time.monotonic())):
            raise redis.TimeoutError("no answer in time")
        parent: Any = super()
        return parent.read_response(*arguments, **options)


class _TcpConnection(_Bounded, redis.Connection):
    pass


class _TlsConnection(_Bounded, redis.SSLConnection):
    pass


class _UnixConnection(_Bounded, redis.UnixDomainSocketConnection):
    pass


_KINDS = {
    "redis": _TcpConnection,
    "rediss": _TlsConnection,
    "unix": _UnixConnection,
}


@attrs.define(eq=False, kw_only=True)
class RedisConnections:
    """Keeps connections for as many threads as ask at once. Safe to share between threads.

    Attributes:
        kind: Scheme of the URL: ``redis``, ``rediss`` or ``unix``.
        options: Where the server is and who asks, as redis-py calls it.
        timeout: Longest wait for the answers to what is sent, the connecting included.
    """

    kind: str
    options: dict[str, object] = attrs.field(repr=False)
    timeout: dt.timedelta
    _idle: list[_IConnection] = attrs.field(factory=list, init=False, repr=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)
    _is_closed: bool = attrs.field(default=False, init=False)

    def deadline(self, further: dt.timedelta = dt.timedelta()) -> float:
        """Return the end of a wait that begins now, as a reading of the monotonic clock.

        Args:
            further: What is added because the server itself is asked to wait.
        """
        return time.monotonic() + (self.timeout + further).total_seconds()

    def exchange(self, commands: Sequence[Command], *, until: float | None = None) -> list[object]:
        """Send commands in one go and return the answers; errors are among them.

        Args:
            commands: At least one.
            until: When to stop waiting; ``deadline()`` from now on, if ``None``. What is being
                sent or received at that moment may take another ``timeout`` each.

        Raises:
            NotSentError: No connection in time; nothing was sent.
            NoAnswerError: Not all of them were answered; holds the answers up to there.
        """
        until = self.deadline() if until is None else until
        connection = self._taken(until)
        answers: list[object] = []
        try:
            # In one piece: the socket's timeout is then that of the sending as a whole.
            packed = b"".join(connection.pack_commands(commands))
            connection.send_packed_command([packed], check_health=False)
            while len(answers) < len(commands):
                answers.append(_answer(connection))
                if isinstance(answers[-1], redis.ConnectionError):  # it has been disconnected
                    answers += [answers[-1]] * (len(commands) - len(answers))
        except _FAILURES as error:
            connection.disconnect()
            raise NoAnswerError(said(error), answers) from error
        except BaseException:
            connection.disconnect()
            raise
        self._give_back(connection)
        return answers

    def ask(self, *command: bytes | str | int, until: float | None = None) -> object:
        """Send one command and return its answer.

        Args:
            command: The command and its arguments.
            until: As for ``exchange``.

        Raises:
            NotSentError: No connection; nothing was sent.
            NoAnswerError: No answer; it may have been carried out.
            RefusedCommandError: The answer is an error.
        """
        (answer,) = self.exchange([command], until=until)
        return checked(answer)

    def close(self) -> None:
        """Disconnect. What is asked afterwards is not sent."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.disconnect()

    def _taken(self, until: float) -> _IConnection:
        """Return a connection that is connected, and nobody else's."""
        with self._lock:
            if self._is_closed:
                raise NotSentError("it has been shut down")
            connection = self._idle.pop() if self._idle else self._new()
        connection.deadline = until
        try:
            connection.connect()
            if _is_stale(connection):
                connection.disconnect()
                connection.connect()
        except (*_FAILURES, redis.ResponseError) as error:
            connection.disconnect()
            raise NotSentError(said(error)) from error
        except BaseException:
            connection.disconnect()
            raise
        return connection

    def _new(self) -> _IConnection:
        seconds = self.timeout.total_seconds()
        made: Any = _KINDS[self.kind]
        connection: _IConnection = made(
            **self.options,
            socket_timeout=seconds,
            # A host may have two addresses, of which the first leads nowhere.
            socket_connect_timeout=seconds / 2,
            retry=Retry(NoBackoff(), 0),
            protocol=_RESP2,
        )
        return connection

    def _give_back(self, connection: _IConnection) -> None:
        with self._lock:
            if not self._is_closed:
                self._idle.append(connection)
                return
        connection.disconnect()


def checked(answer: object) -> object:
    """Return an answer that is no error.

    Raises:
        RefusedCommandError: It is one.
    """
    if isinstance(answer, Exception):
        raise RefusedCommandError(said(answer)) from answer
    return answer


def _answer(connection: _IConnection) -> object:
    """Return an answer, or the error that the server has answered with."""
    try:
        return connection.read_response()
    except redis.ResponseError as error:
        return error
    except (redis.AuthenticationError, redis.BusyLoadingError) as error:
        return error  # a reply, though redis-py takes it for the end of the connection


def _is_stale(connection: _IConnection) -> bool:
    """Say whether the server has closed a connection that lay idle."""
    try:
        return connection.can_read()
    except _FAILURES:
        return True
