"""Addresses of name servers, and the first look at whether one knows a broker."""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from pragmatic_ddd_rocketmq.errors import RocketMqStartError
from pragmatic_ddd_rocketmq.name_server import NameServers
from tests import servers


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        "localhost",
        "localhost:",
        "localhost:0",
        "localhost:65536",
        ":9876",
        "a b:9876",
        "http://localhost:9876",
        "localhost:9876,other:9876",
        "-x:9876",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        NameServers.parse(text)


def test_addresses_are_separated_by_semicolons() -> None:
    parsed = NameServers.parse(" ns-1.example:9876 ; 10.0.0.2:9877;")

    assert parsed.addresses == (("ns-1.example", 9876), ("10.0.0.2", 9877))
    assert str(parsed) == "ns-1.example:9876;10.0.0.2:9877"


def test_names_become_numbers_because_the_client_dies_of_names_that_do_not_resolve() -> None:
    resolved = NameServers.parse("localhost:9876;no-such-host.invalid:9876").resolved()

    assert str(resolved) == "127.0.0.1:9876"


def test_names_that_do_not_resolve_stop_the_start() -> None:
    with pytest.raises(RocketMqStartError, match=r"no-such-host\.invalid"):
        NameServers.parse("no-such-host.invalid:9876").resolved()


@contextmanager
def a_server(answer: Callable[[socket.socket], object]) -> Iterator[NameServers]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with closing(connection):
                answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield NameServers((("127.0.0.1", listener.getsockname()[1]),))
        thread.join(5)


def an_answer(table: str) -> Callable[[socket.socket], object]:
    header = json.dumps({"code": 0}).encode()
    body = table.encode()

    def answer(connection: socket.socket) -> None:
        connection.recv(4096)
        size = struct.pack(">II", 4 + len(header) + len(body), len(header))
        connection.sendall(size + header + body)

    return answer


def test_a_name_server_names_its_brokers() -> None:
    table = '{"brokerAddrTable":{"a":{"brokerAddrs":{0:"10.0.0.1:10911",1:"10.0.0.2:10911"}}}}'

    with a_server(an_answer(table)) as name_servers:
        assert name_servers.brokers(timeout_seconds=2) == ["10.0.0.1:10911", "10.0.0.2:10911"]


def test_a_name_server_without_a_broker_is_not_enough() -> None:
    with (
        a_server(an_answer('{"brokerAddrTable":{}}')) as name_servers,
        pytest.raises(RocketMqStartError, match="knows no broker"),
    ):
        name_servers.brokers(timeout_seconds=2)


@pytest.mark.parametrize(
    "answer",
    [
        lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        lambda connection: connection.sendall(struct.pack(">I", 2) + b"xx"),
        lambda connection: connection.sendall(b"\0\0"),
        lambda connection: None,
    ],
    ids=["http", "too short", "cut", "closed"],
)
def test_another_kind_of_server_is_no_name_server(
    answer: Callable[[socket.socket], object],
) -> None:
    with (
        a_server(answer) as name_servers,
        pytest.raises(RocketMqStartError, match="no name server has a broker"),
    ):
        name_servers.brokers(timeout_seconds=2)


def test_a_name_server_that_never_answers_is_given_up_in_time() -> None:
    with (
        a_server(lambda connection: connection.recv(4096) and connection.recv(4096)) as silent,
        pytest.raises(RocketMqStartError, match=r"no answer in time|timed out"),
    ):
        silent.brokers(timeout_seconds=0.3)


def test_a_name_server_that_is_not_there_is_named() -> None:
    with pytest.raises(RocketMqStartError, match=r"127\.0\.0\.1:1: .*refused"):
        NameServers.parse("127.0.0.1:1").brokers(timeout_seconds=2)


@pytest.mark.service("rocketmq")
def test_the_next_name_server_is_asked_where_the_first_is_not_there() -> None:
    both = NameServers.parse(f"127.0.0.1:1;{servers.rocketmq_name_server()}")

    assert both.brokers(timeout_seconds=3)
