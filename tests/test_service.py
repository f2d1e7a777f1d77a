"""What is said of a service whose port somebody else has."""

import os
import socket
from pathlib import Path

import pytest

from tests.services import command_line
from tests.services.port import HOST, Port
from tests.services.redis import Redis
from tests.services.service import Service, ServiceState


def test_a_service_whose_port_another_process_has_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Port.kept() as port:
        service = Service(Redis(tmp_path, port))
        monkeypatch.setattr(command_line, "services", lambda names: [service])
        states = [service.state]
        with socket.create_server((HOST, port.number)):
            states.append(service.state)
            assert command_line.main(["status"]) == 1

    assert states == [ServiceState.DOWN, ServiceState.TAKEN]
    printed = capsys.readouterr().out
    assert f"{port.number} by " in printed
    assert f"(pid {os.getpid()}) in {Path.cwd()}" in printed
