"""RocketMQ 5: a name server, and a broker with the gRPC proxy in the same JVM.

    build/services/rocketmq/jars-<version>          what both run from
    build/services/<name>/logs/rocketmqlogs         what they log

The proxy's ports and the broker's second one listen on every interface, whatever is set.
"""

import json
import signal
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.services import maven, remoting
from tests.services.error import ServiceError
from tests.services.folder import STATE, exclusive, make_whole
from tests.services.java import java
from tests.services.port import HOST, Port
from tests.services.process import Process
from tests.services.remoting import RemotingError, RequestCode

VERSION = "5.3.3"
CLUSTER = "DefaultCluster"

_SHARED = STATE / "rocketmq"
_JARS = _SHARED / f"jars-{VERSION}"
PACKAGES = {"java": "default-jre-headless", "mvn": "maven"}

_BROKER_SETTINGS = f"""\
brokerClusterName={CLUSTER}
brokerName=broker-a
brokerId=0
brokerIP1={HOST}
brokerIP2={HOST}
bindAddress={HOST}
autoCreateTopicEnable=true
autoCreateSubscriptionGroup=true
defaultTopicQueueNums=4
mappedFileSizeCommitLog=67108864
mappedFileSizeConsumeQueue=600000
mappedFileSizeTimerLog=10485760
maxHashSlotNum=10000
maxIndexNum=40000
"""


def name_server_port() -> Port:
    """Return where clients ask for routes."""
    return Port.of("rocketmq-namesrv", 9876)


def broker_port() -> Port:
    """Return where clients of the remoting protocol send to."""
    return Port.of("rocketmq-broker", 10911)


def grpc_port() -> Port:
    """Return where clients of the gRPC protocol send to."""
    return Port.of("rocketmq-grpc", 8081)


class RocketMqNameServer:
    """Tells clients which broker has a topic."""

    name = "rocketmq-namesrv"
    stop_signal = signal.SIGTERM

    def __init__(self) -> None:
        self._port = name_server_port()
        self.folder = STATE / self.name
        self._settings = self.folder / "namesrv.conf"

    @property
    def url(self) -> str:
        return self._port.address

    @property
    def ports(self) -> Sequence[Port]:
        return [self._port]

    @property
    def packages(self) -> Mapping[str, str]:
        return PACKAGES

    def prepare(self) -> None:
        fetch_jars()
        self._settings.write_text(f"bindAddress={HOST}\nlistenPort={self._port.number}\n")

    def command(self) -> Sequence[str]:
        heap = ["-Xms32m", "-Xmx128m", "-XX:TieredStopAtLevel=1"]
        main = "org.apache.rocketmq.namesrv.NamesrvStartup"
        return [*rocketmq_java(self.folder, "namesrv", heap), main, "-c", str(self._settings)]

    def environment(self) -> Mapping[str, str]:
        return {"ROCKETMQ_HOME": str(self.folder)}

    def answers(self) -> bool:
        return _registered(self._port) is not None

    def clean_up(self) -> None:
        return


class RocketMqBroker:
    """Keeps the messages. Ready once the name server, which must run, gives out its address."""

    name = "rocketmq-broker"
    stop_signal = signal.SIGTERM

    def __init__(self) -> None:
        self._port = broker_port()
        self._grpc = grpc_port()
        self._remoting_proxy = Port.of("rocketmq-remoting", 18080)
        self._name_server = name_server_port()
        self.folder = STATE / self.name
        self._settings = self.folder / "broker.conf"
        self._proxy_settings = self.folder / "proxy.json"

    @property
    def url(self) -> str:
        return f"{self._port.address} grpc://{self._grpc.address}"

    @property
    def ports(self) -> Sequence[Port]:
        beside = (self._port.beside(-2), self._port.beside(1))
        return [self._port, *beside, self._grpc, self._remoting_proxy]

    @property
    def packages(self) -> Mapping[str, str]:
        return PACKAGES

    def prepare(self) -> None:
        self._refuse_a_name_server_of_others()
        fetch_jars()
        data = self.folder / "data"
        own = {
            "namesrvAddr": self._name_server.address,
            "listenPort": self._port.number,
            "storePathRootDir": data,
            "storePathCommitLog": data / "commitlog",
        }
        lines = "".join(f"{key}={value}\n" for key, value in own.items())
        self._settings.write_text(_BROKER_SETTINGS + lines)
        proxy = {
            "rocketMQClusterName": CLUSTER,
            "localServeAddr": HOST,
            "grpcServerPort": self._grpc.number,
            "remotingListenPort": self._remoting_proxy.number,
            "grpcShutdownTimeSeconds": 2,
            # So that tests need not wait: by default 5 s, and 20 s.
            "grpcClientConsumerMinLongPollingTimeoutMillis": 100,
            "topicRouteServiceCacheRefreshSeconds": 1,
        }
        self._proxy_settings.write_text(json.dumps(proxy))

    def command(self) -> Sequence[str]:
        heap = ["-Xms256m", "-Xmx256m", "-XX:MaxDirectMemorySize=512m"]
        main = "org.apache.rocketmq.proxy.ProxyStartup"
        proxy = ["-pm", "local", "-n", self._name_server.address, "-pc", str(self._proxy_settings)]
        broker = ["-bc", str(self._settings)]
        return [*rocketmq_java(self.folder, "proxy", heap), main, *proxy, *broker]

    def environment(self) -> Mapping[str, str]:
        return {"ROCKETMQ_HOME": str(self.folder)}

    def answers(self) -> bool:
        return self._runs() and self._grpc.accepts() and self._is_registered()

    def clean_up(self) -> None:
        return

    def _refuse_a_name_server_of_others(self) -> None:
        ours = Process.read(STATE / RocketMqNameServer.name / "pid")
        listener = self._name_server.listener()
        if listener is not None and (ours is None or ours.pid != listener):
            raise ServiceError(
                f"the name server on port {self._name_server.number} is not ours; "
                f"set {self._name_server.variable} to a free port"
            )

    def _runs(self) -> bool:
        try:
            remoting.request(self._port, RequestCode.GET_BROKER_RUNTIME_INFO)
        except RemotingError:
            return False
        return True

    def _is_registered(self) -> bool:
        if self._port.address in (_registered(self._name_server) or ""):
            return True
        # It would register 10 s after its start; a permission that is set makes it do so now.
        remoting.request(self._port, RequestCode.UPDATE_BROKER_CONFIG, body=b"brokerPermission=6\n")
        return self._port.address in (_registered(self._name_server) or "")


def _registered(name_server: Port) -> str | None:
    """Return what the name server knows of its brokers, or None when it is not ready."""
    try:
        answer = remoting.request(name_server, RequestCode.GET_BROKER_CLUSTER_INFO)
    except RemotingError:
        return None
    return answer.body.decode()


def fetch_jars() -> None:
    """Have the jars that everything of RocketMQ runs from."""
    with exclusive(_SHARED):
        fetch = partial(
            maven.fetch,
            artifacts=[
                f"org.apache.rocketmq:{name}:{VERSION}"
                for name in ("rocketmq-namesrv", "rocketmq-proxy")
            ],
            log=_SHARED / "maven.log",
        )
        make_whole(_JARS, fetch)


def rocketmq_java(folder: Path, log_settings: str, options: Sequence[str]) -> list[str]:
    """Return the beginning of a command: Java with the jars, logging into a folder."""
    own = [
        "-Djava.net.preferIPv4Stack=true",
        f"-Duser.home={folder}",  # where its logs go
        f"-Drmq.logback.configurationFile=rmq.{log_settings}.logback.xml",
    ]
    return java(_JARS, folder, [*options, *own])
