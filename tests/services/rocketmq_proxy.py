"""A RocketMQ proxy of one's own before the broker of all: to be cut off, frozen, killed, restarted.

It runs in cluster mode. There it sends clients to the address that they came by, so that a gate
may stand before it; one inside a broker sends them to the broker's.
"""

import json
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.services.port import HOST, Port
from tests.services.rocketmq import CLUSTER, PACKAGES, fetch_jars, name_server_port, rocketmq_java


class RocketMqProxy:
    """Speaks gRPC to clients. The name server and a broker must run."""

    name = "rocketmq-proxy"
    ports_in_a_row = 2
    stop_signal = signal.SIGTERM

    def __init__(
        self, folder: Path, port: Port, settings: Mapping[str, object] | None = None
    ) -> None:
        """Use this folder and this port, and the one behind it.

        Args:
            folder: Where its state and its log are.
            port: Where gRPC clients find it.
            settings: What it is set to beyond what each of these has.
        """
        self.folder = folder
        self._further = settings or {}
        self.grpc = port
        self._remoting = port.beside(1)
        self._settings = folder / "proxy.json"

    @property
    def url(self) -> str:
        return f"grpc://{self.grpc.address}"

    @property
    def ports(self) -> Sequence[Port]:
        return [self.grpc, self._remoting]

    @property
    def packages(self) -> Mapping[str, str]:
        return PACKAGES

    def prepare(self) -> None:
        fetch_jars()
        settings = {
            "rocketMQClusterName": CLUSTER,
            "proxyMode": "cluster",
            "namesrvAddr": name_server_port().address,
            "localServeAddr": HOST,
            "grpcServerPort": self.grpc.number,
            "useEndpointPortFromRequest": True,
            "remotingListenPort": self._remoting.number,
            "grpcShutdownTimeSeconds": 1,
            # So that tests need not wait: by default 5 s, 10 s, and 20 s.
            "grpcClientConsumerMinLongPollingTimeoutMillis": 100,
            "minInvisibleTimeMillsForRecv": 1000,
            "topicRouteServiceCacheRefreshSeconds": 1,
        }
        self._settings.write_text(json.dumps({**settings, **self._further}))

    def command(self) -> Sequence[str]:
        heap = ["-Xms64m", "-Xmx192m", "-XX:MaxDirectMemorySize=256m", "-XX:TieredStopAtLevel=1"]
        main = "org.apache.rocketmq.proxy.ProxyStartup"
        proxy = ["-pm", "cluster", "-n", name_server_port().address, "-pc", str(self._settings)]
        return [*rocketmq_java(self.folder, "proxy", heap), main, *proxy]

    def environment(self) -> Mapping[str, str]:
        return {"ROCKETMQ_HOME": str(self.folder)}

    def answers(self) -> bool:
        return self.grpc.accepts()

    def clean_up(self) -> None:
        return
