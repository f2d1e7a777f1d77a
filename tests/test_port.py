"""Ports that tests pick for servers of their own, while others do the same."""

import socket

import pytest

from tests.services import port
from tests.services.error import ServiceError
from tests.services.port import HOST, Port


def test_what_is_kept_is_picked_by_nobody_else_and_a_server_may_come_and_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Port.kept(2) as kept:
        monkeypatch.setattr(port, "_FIRST_FREE", kept.number)
        monkeypatch.setattr(port, "_LAST_FREE", kept.number + 3)
        for number in (kept.number, kept.number + 1):
            for address in (HOST, ""):  # loopback, every interface
                with socket.create_server((address, number)):
                    socket.create_connection((HOST, number)).close()
            with pytest.raises(ServiceError, match="no 1 ports"):
                Port.free()

    monkeypatch.setattr(port, "_FIRST_FREE", kept.number)
    monkeypatch.setattr(port, "_LAST_FREE", kept.number + 3)
    assert Port.free().number in {kept.number, kept.number + 1}
