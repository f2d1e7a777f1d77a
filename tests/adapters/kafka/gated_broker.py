"""A broker whose clients come through a gate: it tells them the gate's address as its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

from tests.services import debian
from tests.services.kafka import Kafka
from tests.services.port import HOST, Port
from tests.services.service import Service
from tests.tcp_gate import TcpGate


class _KafkaBehindAGate(Kafka):
    def __init__(self, folder: Path, port: Port, gate: TcpGate) -> None:
        super().__init__(folder, port)
        self._gate = gate

    def _write_settings(self, purpose: str, data: Path) -> None:
        super()._write_settings(purpose, data)
        advertised = f"PLAINTEXT://{HOST}:{self._gate.port},SASL_PLAINTEXT://{self._sasl.address}"
        with self._settings(purpose).open("a") as settings:
            settings.write(f"advertised.listeners={advertised}\n")


@attrs.frozen
class GatedBroker:
    """A broker that may be killed and frozen, and the gate in front of it.

    Attributes:
        service: The broker.
        gate: What all clients pass through that do not say who they are.
    """

    service: Service
    gate: TcpGate

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"{HOST}:{self.gate.port}"


@contextmanager
def gated_broker(folder: Path) -> Iterator[GatedBroker]:
    """Start a broker behind a gate on free ports, and kill it in the end."""
    port = Port.free(Kafka.ports_in_a_row)
    with TcpGate((HOST, port.number)) as gate:
        service = Service(_KafkaBehindAGate(folder, port, gate))
        debian.check([service.server.packages])
        try:
            service.start()
            yield GatedBroker(service, gate)
        finally:
            service.kill()
