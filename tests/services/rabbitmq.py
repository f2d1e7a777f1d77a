"""RabbitMQ, one node, with an epmd of its own that tells Erlang nodes about each other.

    epmd ──┐ port + 1
           └── rabbitmq-server ── AMQP on its port, Erlang's distribution on port + 2

The consistent-hash exchange is switched on; it comes with the package. The management plugin,
which would listen on every interface, is not.
"""

import datetime as dt
import json
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.services.error import ServiceError
from tests.services.folder import STATE
from tests.services.port import HOST, Port
from tests.services.process import processes_in

# Debian's own wrapper changes the user, and would need that user's folders.
_SERVER = "/usr/lib/rabbitmq/bin/rabbitmq-server"
_EPMD_LIMIT = dt.timedelta(seconds=5)
_PLUGINS = "[rabbitmq_consistent_hash_exchange].\n"
_METHOD_FRAME = b"\x01"

_EVERYTHING = {"configure": ".*", "write": ".*", "read": ".*"}
_NOTHING = {"configure": "^$", "write": "^$", "read": "^$"}
_DEFINITIONS = {
    "vhosts": [{"name": "/"}],
    "users": [
        {"name": "guest", "password": "guest", "tags": "administrator"},
        {"name": "restricted", "password": "restricted", "tags": ""},
    ],
    "permissions": [
        {"user": "guest", "vhost": "/", **_EVERYTHING},
        {"user": "restricted", "vhost": "/", **_NOTHING},
    ],
}


class RabbitMq:
    """One node; user and password ``guest`` may do anything, ``restricted`` may only connect."""

    name = "rabbitmq"
    stop_signal = signal.SIGTERM
    ports_in_a_row = 3

    def __init__(self, folder: Path | None = None, port: Port | None = None) -> None:
        self.folder = folder or STATE / self.name
        self._port = port or Port.of(self.name, 25679)
        self._epmd = self._port.beside(1)
        self._distribution = self._port.beside(2)
        self._settings = self.folder / "rabbitmq.conf"
        self._definitions = self.folder / "definitions.json"
        self._plugins = self.folder / "enabled_plugins"

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@{self._port.address}/"

    @property
    def ports(self) -> Sequence[Port]:
        return [self._port, self._epmd, self._distribution]

    @property
    def packages(self) -> Mapping[str, str]:
        return {_SERVER: "rabbitmq-server", "epmd": "erlang-base"}

    def prepare(self) -> None:
        self._plugins.write_text(_PLUGINS)
        self._definitions.write_text(json.dumps(_DEFINITIONS))
        self._settings.write_text(
            f"listeners.tcp.1 = {self._port.address}\n"
            f"load_definitions = {self._definitions}\n"
            "log.console.level = warning\n"
            "disk_free_limit.absolute = 50MB\n"
        )

    def command(self) -> Sequence[str]:
        # An epmd that is there already keeps the node from leaving one of its own behind.
        return ["sh", "-c", f"epmd & exec {_SERVER}"]

    def environment(self) -> Mapping[str, str]:
        return {
            "HOME": str(self.folder),  # for the cookie
            "LANG": "C.UTF-8",
            "RUNNING_UNDER_SYSTEMD": "true",  # no shell that stays between us and the node
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": str(self._settings),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self.folder / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._plugins),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "data"),
            "RABBITMQ_LOG_BASE": str(self.folder),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_NODENAME": "tests@localhost",
            "RABBITMQ_DIST_PORT": str(self._distribution.number),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
                "-kernel inet_dist_use_interface {127,0,0,1} "
                "+sbwt none +sbwtdcpu none +sbwtdio none"  # an idle node takes no processor
            ),
            "ERL_EPMD_PORT": str(self._epmd.number),
            "ERL_EPMD_ADDRESS": HOST,
        }

    def answers(self) -> bool:
        return self._port.answer(b"AMQP\0\0\x09\x01", 1) == _METHOD_FRAME  # connection.start

    def clean_up(self) -> None:
        """End the epmd: it outlives the node, and would keep its port from the next one."""
        for epmd in processes_in(self.folder, "epmd"):
            epmd.send(signal.SIGTERM)
            if not epmd.has_ended(_EPMD_LIMIT):
                raise ServiceError(f"epmd (pid {epmd.pid}) did not end within {_EPMD_LIMIT}")
