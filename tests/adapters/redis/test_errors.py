"""What the server answers, and what becomes of it: each kind from a server that answers so."""

import datetime as dt
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from pragmatic_ddd.errors import (
    BrokerUnavailableError,
    EventPublishError,
    EventRejectedError,
    EventUnconfirmedError,
)
from pragmatic_ddd_redis import RedisConfig, RedisStartError
from pragmatic_ddd_redis.errors import (
    NoAnswerError,
    NotSentError,
    RefusedEventError,
    translated,
)
from tests.adapters.redis.shop import connections

_REPLIES = {
    "OOM command not allowed when used memory > 'maxmemory'.": BrokerUnavailableError,
    "READONLY You can't write against a read only replica.": BrokerUnavailableError,
    "NOAUTH Authentication required.": BrokerUnavailableError,
    "WRONGPASS invalid username-password pair or user is disabled.": BrokerUnavailableError,
    "LOADING Redis is loading the dataset in memory": BrokerUnavailableError,
    "MISCONF Redis is configured to save RDB snapshots": BrokerUnavailableError,
    "NOREPLICAS Not enough good replicas to write.": BrokerUnavailableError,
    "MASTERDOWN Link with MASTER is down": BrokerUnavailableError,
    "CLUSTERDOWN Hash slot not served": BrokerUnavailableError,
    "MOVED 3999 127.0.0.1:6381": BrokerUnavailableError,
    "ASK 3999 127.0.0.1:6381": BrokerUnavailableError,
    "TRYAGAIN Multiple keys request during rehashing of slot": BrokerUnavailableError,
    "BUSY Redis is busy running a script.": BrokerUnavailableError,
    "NOPERM this user has no permissions to access one of the keys": EventPublishError,
    "WRONGTYPE Operation against a key holding the wrong kind of value": EventPublishError,
    "ERR The stream has exhausted the last possible ID": EventPublishError,
    "ERR unknown command 'XADD'": EventPublishError,
}


@contextmanager
def a_server_that_replies(line: str) -> Iterator[int]:
    """Run a server that answers with one line, after a friendly greeting; return its port."""

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            while received := client.recv(65_536):
                is_greeting = b"SETINFO" in received
                client.sendall(b"+OK\r\n" if is_greeting else f"{line}\r\n".encode())

    def accept() -> None:
        with suppress(OSError):  # closed at the end of the test
            while True:
                client, _ = server.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]


def a_config_for(port: int) -> RedisConfig:
    return RedisConfig(url=f"redis://127.0.0.1:{port}", send_timeout=dt.timedelta(seconds=1))


@pytest.mark.parametrize("reply", _REPLIES)
def test_an_error_reply_becomes_an_error_of_the_port(reply: str) -> None:
    with a_server_that_replies(f"-{reply}") as port:
        reached = connections(a_config_for(port))
        try:
            answer, *rest = reached.exchange([("XADD", "shop", "*", "a", "b")])
        finally:
            reached.close()

    assert rest == []
    assert isinstance(answer, Exception)
    error = translated(answer, "event-1", "shop")
    assert type(error) is _REPLIES[reply]
    assert error.retryable
    assert (error.event_id, error.topic) == ("event-1", "shop")
    assert reply.split(maxsplit=1)[1].split(" ", maxsplit=1)[0] in error.reason


def test_a_refusal_that_ends_the_connection_is_the_answer_to_all_that_was_sent() -> None:
    with a_server_that_replies("-NOAUTH Authentication required.") as port:
        reached = connections(a_config_for(port))
        try:
            answers = reached.exchange([("PING",), ("PING",), ("PING",)])
        finally:
            reached.close()

    assert [type(answer).__name__ for answer in answers] == ["AuthenticationError"] * 3


@pytest.mark.parametrize(
    ("raised", "translation", "retryable"),
    [
        (RefusedEventError("too large"), EventRejectedError, False),
        (NotSentError("connection refused"), BrokerUnavailableError, True),
        (NoAnswerError("no answer in time", []), EventUnconfirmedError, True),
    ],
)
def test_what_is_raised_becomes_an_error_of_the_port(
    raised: Exception, translation: type[EventPublishError], retryable: bool
) -> None:
    error = translated(raised, "event-1", "shop")

    assert type(error) is translation
    assert error.reason == str(raised)
    assert error.retryable is retryable


def test_a_start_may_be_tried_again() -> None:
    assert RedisStartError.retryable
