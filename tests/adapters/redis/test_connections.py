"""Connections: what is known of commands after each kind of trouble, and how long that takes."""

import datetime as dt
import select
import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from pragmatic_ddd_redis.connections import RedisConnections
from pragmatic_ddd_redis.errors import NoAnswerError, NotSentError, RefusedCommandError
from tests.adapters.redis.shop import a_config, connections, url_at
from tests.tcp_gate import TcpGate

pytestmark = pytest.mark.service("redis")

_TIMEOUT = dt.timedelta(milliseconds=300)


@pytest.fixture
def reached(gate: TcpGate) -> Iterator[RedisConnections]:
    reached = connections(a_config(url=url_at(gate.port), send_timeout=_TIMEOUT))
    yield reached
    reached.close()


def _lasts_no_longer_than(begun: float, timeouts: float) -> bool:
    return time.monotonic() - begun < timeouts * _TIMEOUT.total_seconds() + 0.5


def test_answers_come_in_the_order_of_the_commands(reached: RedisConnections) -> None:
    answers = reached.exchange([("ECHO", "a"), ("NONSENSE",), ("ECHO", b"b"), ("ECHO", 7)])

    assert (answers[0], *answers[2:]) == (b"a", b"b", b"7")
    assert isinstance(answers[1], redis.ResponseError)


def test_an_error_reply_to_one_question_is_raised(reached: RedisConnections) -> None:
    with pytest.raises(RefusedCommandError, match="unknown command"):
        reached.ask("NONSENSE")

    assert reached.ask("PING") == b"PONG"


def test_without_a_server_nothing_is_sent(reached: RedisConnections, gate: TcpGate) -> None:
    assert reached.ask("PING") == b"PONG"
    with gate.shut():
        begun = time.monotonic()
        with pytest.raises(NotSentError, match="ConnectionError"):
            reached.ask("PING")
        assert _lasts_no_longer_than(begun, 1)

    assert reached.ask("PING") == b"PONG"


def test_a_connection_that_was_cut_while_it_lay_idle_is_made_anew(
    reached: RedisConnections, gate: TcpGate
) -> None:
    """Before anything is sent: else a restart of the server would cost an unconfirmed event."""
    for _ in range(5):
        assert reached.ask("PING") == b"PONG"
        connection: Any = reached._idle[-1]
        gate.cut()
        news, _, _ = select.select([connection._sock], [], [], 10)
        assert news


def test_a_silent_server_is_waited_for_once(reached: RedisConnections, gate: TcpGate) -> None:
    reached.ask("PING")
    with gate.silent():
        begun = time.monotonic()
        with pytest.raises(NoAnswerError, match="in time"):
            reached.ask("PING")
        assert _lasts_no_longer_than(begun, 1)
        with pytest.raises(NotSentError):  # a new connection, whose greeting is not answered
            reached.ask("SELECT", 0)
        assert _lasts_no_longer_than(begun, 2)

    assert reached.ask("PING") == b"PONG"


def test_the_answers_before_the_end_of_a_connection_are_known(
    reached: RedisConnections, gate: TcpGate
) -> None:
    reached.ask("PING")
    with (
        gate.answering(at_most_bytes=2 * len(b"$1\r\na\r\n") + 3),
        pytest.raises(NoAnswerError) as caught,
    ):
        reached.exchange([("ECHO", letter) for letter in "abcd"])

    assert caught.value.answers == (b"a", b"b")


def test_a_late_answer_is_never_taken_for_another_one(
    reached: RedisConnections, gate: TcpGate
) -> None:
    reached.ask("PING")
    with gate.silent(), pytest.raises(NoAnswerError):
        reached.ask("ECHO", "late")

    assert reached.ask("ECHO", "next") == b"next"


def test_a_long_question_may_wait_longer(reached: RedisConnections) -> None:
    further = dt.timedelta(milliseconds=500)
    until = reached.deadline(further)

    answer = reached.ask("BLPOP", "pragmatic-ddd:nothing-there", "0.5", until=until)

    assert answer is None


def test_after_the_end_nothing_is_sent(reached: RedisConnections) -> None:
    reached.ask("PING")
    reached.close()

    with pytest.raises(NotSentError, match="shut down"):
        reached.ask("PING")
