"""The cache of inboxes in Redis: what it promises, what it forgets, and what it costs when away."""

import datetime as dt
import os
import secrets
import socket
import time
from collections.abc import Iterator

import pytest

from pragmatic_ddd.application.inbox import CachedInbox
from pragmatic_ddd.errors import InfrastructureError
from pragmatic_ddd.ports import Handling
from pragmatic_ddd.testing.inbox_binding import an_arrival
from pragmatic_ddd.testing.inbox_cache import InboxCacheContract
from pragmatic_ddd_local import InMemoryInbox
from pragmatic_ddd_redis.inbox_cache import RedisInboxCache
from tests import servers

_A_MINUTE = dt.timedelta(minutes=1)


def _cache(namespace: str, keep: dt.timedelta = _A_MINUTE) -> RedisInboxCache:
    return RedisInboxCache.at(servers.redis_url(), namespace=namespace, keep=keep)


@pytest.mark.service("redis")
class TestContract(InboxCacheContract):
    @pytest.fixture
    def cache(self) -> Iterator[RedisInboxCache]:
        cache = _cache(f"test-{secrets.token_hex(6)}")
        yield cache
        cache.close()


@pytest.mark.service("redis")
def test_namespaces_do_not_know_each_other() -> None:
    name = f"test-{secrets.token_hex(6)}"
    one, same, other = _cache(name), _cache(name), _cache(f"{name}:4")
    one.note("ship", "1")

    assert same.is_known("ship", "1")
    assert not other.is_known("ship", "1")
    for cache in (one, same, other):
        cache.close()


@pytest.mark.service("redis")
def test_what_was_noted_is_forgotten_after_a_time() -> None:
    cache = _cache(f"test-{secrets.token_hex(6)}", keep=dt.timedelta(milliseconds=30))
    cache.note("ship", "1")

    deadline = time.monotonic() + 10
    while cache.is_known("ship", "1"):
        assert time.monotonic() < deadline
    cache.close()


@pytest.mark.service("redis")
def test_a_forked_child_asks_over_a_connection_of_its_own() -> None:
    cache = _cache(f"test-{secrets.token_hex(6)}")
    cache.note("ship", "1")
    pid = os.fork()
    if not pid:
        os._exit(0 if cache.is_known("ship", "1") and not cache.is_known("ship", "2") else 1)

    assert cache.is_known("ship", "1")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    cache.close()


@pytest.fixture
def silent_server() -> Iterator[int]:
    """Listen on a port, and never say anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_server_that_says_nothing_is_given_up_soon(silent_server: int) -> None:
    cache = RedisInboxCache.at(
        f"redis://:s3cret@127.0.0.1:{silent_server}/0",
        namespace="test",
        timeout=dt.timedelta(milliseconds=50),
    )
    begun = time.monotonic()

    with pytest.raises(InfrastructureError, match="Redis: ") as failure:
        cache.is_known("ship", "1")
    with pytest.raises(InfrastructureError, match="Redis: "):
        cache.note("ship", "1")

    assert time.monotonic() - begun < 5
    assert "s3cret" not in str(failure.value)
    assert "s3cret" not in repr(cache)
    cache.close()


def test_an_inbox_behind_a_server_that_is_away_goes_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    cache = RedisInboxCache.at(f"redis://127.0.0.1:{port}/0", namespace="test")
    inbox = CachedInbox(inbox=InMemoryInbox(), cache=cache)

    answers = [inbox.handle(an_arrival(), lambda _: None) for _ in range(2)]

    assert answers == [Handling.HANDLED, Handling.REPEATED]
    cache.close()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"namespace": " "}, ValueError),
        ({"namespace": None}, TypeError),
        ({"keep": dt.timedelta()}, ValueError),
        ({"keep": 5}, TypeError),
        ({"timeout": 5}, TypeError),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(given))):
        RedisInboxCache.at("redis://127.0.0.1/0", **({"namespace": "test"} | given))  # type: ignore[arg-type]  # the point
