"""Nothing runs beside what is measured: of this checkout's servers, those alone that it needs.

A broker that nobody talks to takes up to a third of a core all the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.services.catalogue import services

DATABASES = ("postgresql", "mariadb")


def leave_running(*names: str) -> None:
    """Start these servers, and stop all others of this checkout."""
    needed = {service.name: service for service in services(names)}
    for service in services():
        if service.name not in needed and service.process is not None:
            service.stop()
    for service in needed.values():
        service.start()


@contextmanager
def restored_afterwards() -> Iterator[None]:
    """Start again, in the end, whatever was running in the beginning."""
    running = [service for service in services() if service.process is not None]
    try:
        yield
    finally:
        for service in running:
            service.start()
