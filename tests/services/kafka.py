"""Kafka, one node that is broker and controller (KRaft), from its Maven packages.

    build/services/kafka-jars/<version>     what every node runs from

A node that was killed is fenced until its session is over; a session of a second makes it be back
in a few seconds, where the default takes ten more.
"""

import signal
import struct
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.services import maven
from tests.services.folder import STATE, exclusive, make_whole
from tests.services.java import java
from tests.services.port import Port
from tests.services.process import run

VERSION = "4.2.0"

_JARS = STATE / "kafka-jars" / VERSION
_ARTIFACTS = [f"org.apache.kafka:kafka_2.13:{VERSION}", "org.slf4j:slf4j-simple:1.7.36"]
_CLUSTER = "AAAAAAAAQACAAAAAAAAAAQ"
_JAVA = [
    "-Xms128m",
    "-Xmx384m",
    "-XX:TieredStopAtLevel=1",  # a start takes two thirds of the processor's time
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
]
_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{controller}
listeners=PLAINTEXT://{plain},SASL_PLAINTEXT://{sasl},CONTROLLER://{controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=\
PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required \
user_test="test" user_restricted="restricted";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:test
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
broker.heartbeat.interval.ms=250
broker.session.timeout.ms=1000
"""


class Kafka:
    """One node; who comes without a name may do anything, and so may the user ``test``.

    Users come by SASL PLAIN on port + 2, with their name as password. ``restricted`` may only
    connect.
    """

    name = "kafka"
    stop_signal = signal.SIGTERM
    ports_in_a_row = 3

    def __init__(self, folder: Path | None = None, port: Port | None = None) -> None:
        self.folder = folder or STATE / self.name
        self._port = port or Port.of(self.name, 29092)
        self._controller = self._port.beside(1)
        self._sasl = self._port.beside(2)
        self._data = self.folder / "data"

    @property
    def url(self) -> str:
        return self._port.address

    @property
    def ports(self) -> Sequence[Port]:
        return [self._port, self._controller, self._sasl]

    @property
    def packages(self) -> Mapping[str, str]:
        return {"java": "default-jre-headless", "mvn": "maven"}

    def prepare(self) -> None:
        _fetch_jars()
        make_whole(self._data, self._format)
        self._write_settings("server", self._data)

    def command(self) -> Sequence[str]:
        return [*java(_JARS, self.folder, _JAVA), "kafka.Kafka", str(self._settings("server"))]

    def environment(self) -> Mapping[str, str]:
        return {}

    def answers(self) -> bool:
        # An ApiVersions request; the answer begins with its size and the number we gave, 1.
        number = 1
        question = struct.pack(">ihhih", 10, 18, 0, number, -1)
        return self._port.answer(question, 8)[4:] == struct.pack(">i", number)

    def clean_up(self) -> None:
        return

    def _format(self, data: Path) -> None:
        self._write_settings("format", data)
        storage = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER]
        settings = ["-c", str(self._settings("format"))]
        run([*java(_JARS, self.folder, _JAVA), *storage, *settings], log=self.folder / "log")

    def _settings(self, purpose: str) -> Path:
        return self.folder / f"{purpose}.properties"

    def _write_settings(self, purpose: str, data: Path) -> None:
        settings = _SETTINGS.format(
            plain=self._port.address,
            controller=self._controller.address,
            sasl=self._sasl.address,
            data=data,
        )
        self._settings(purpose).write_text(settings)


def _fetch_jars() -> None:
    shared = _JARS.parent
    with exclusive(shared):
        make_whole(_JARS, partial(maven.fetch, artifacts=_ARTIFACTS, log=shared / "maven.log"))
