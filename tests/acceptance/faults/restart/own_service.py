"""Servers that may be stopped: those that were started from this checkout, and no others."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import attrs

from tests import servers
from tests.services.catalogue import service
from tests.services.error import ServiceError
from tests.services.service import Service, ServiceState


def _name_server_url() -> str:
    return f"//{servers.rocketmq_name_server()}"


_URLS: dict[str, Callable[[], str]] = {
    "postgresql": servers.postgresql_url,
    "mariadb": servers.mariadb_url,
    "rocketmq-namesrv": _name_server_url,
}


@attrs.frozen
class OwnService:
    """A server that tests use and this checkout has started.

    Raises:
        ServiceError: It is somebody else's, or down.
    """

    server: Service

    def __attrs_post_init__(self) -> None:
        name = self.server.name
        if name in _URLS:
            used, own = urlsplit(_URLS[name]()), urlsplit(self._own_url)
            if (used.hostname, used.port) != (own.hostname, own.port):
                raise ServiceError(
                    f"tests use {name} at {used.hostname}:{used.port}, which is not the one that "
                    f"this checkout starts at {own.hostname}:{own.port}: this part kills the "
                    "server, so it needs one of its own"
                )
        if self.server.state is not ServiceState.UP:
            raise ServiceError(
                f"{name} does not run, or was not started from this checkout: this part kills "
                "the server, so it needs one of its own; start it with: make services"
            )

    @classmethod
    def of(cls, name: str) -> "OwnService":
        return cls(service(name))

    @contextmanager
    def kept_up(self) -> Iterator[None]:
        """Have it run in the end, whatever happens."""
        try:
            yield
        finally:
            self.server.start()

    def restart(self, *, kill: bool, away_seconds: float) -> float:
        """Have it away for that long; return when it was back, in seconds of the wall clock."""
        if kill:
            self.server.kill()
        else:
            self.server.stop()
        time.sleep(away_seconds)
        self.server.start()
        return time.time()

    @property
    def _own_url(self) -> str:
        url = self.server.url
        return url if "://" in url else f"//{url}"
