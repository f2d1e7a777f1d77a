import atexit
import weakref
from collections.abc import Callable

import pytest

from pragmatic_ddd.application.exiting import call_at_exit


class Service:
    def __init__(self) -> None:
        self.ended = 0

    def shutdown(self) -> None:
        self.ended += 1


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    calls: list[Callable[[], object]] = []
    monkeypatch.setattr(atexit, "register", calls.append)
    return calls


def test_the_method_is_called_at_the_end(registered: list[Callable[[], object]]) -> None:
    service = Service()
    call_at_exit(service.shutdown)

    registered[0]()

    assert service.ended == 1


def test_the_object_is_not_kept_alive(registered: list[Callable[[], object]]) -> None:
    service = Service()
    forgotten = weakref.ref(service)
    call_at_exit(service.shutdown)
    del service

    assert forgotten() is None
    registered[0]()  # nothing is left to be called
