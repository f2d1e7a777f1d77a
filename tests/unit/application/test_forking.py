import os
import weakref
from collections.abc import Callable

import pytest

from pragmatic_ddd.application.forking import reset_in_child


class Service:
    def __init__(self) -> None:
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    calls: list[Callable[[], object]] = []

    def register(*, after_in_child: Callable[[], object]) -> None:
        calls.append(after_in_child)

    monkeypatch.setattr(os, "register_at_fork", register, raising=False)
    return calls


def test_the_method_is_called_in_a_child(registered: list[Callable[[], object]]) -> None:
    service = Service()
    reset_in_child(service.reset)

    registered[0]()

    assert service.resets == 1


def test_the_object_is_not_kept_alive(registered: list[Callable[[], object]]) -> None:
    service = Service()
    forgotten = weakref.ref(service)
    reset_in_child(service.reset)
    del service

    assert forgotten() is None
    registered[0]()  # nothing is left to be called


def test_nothing_happens_where_there_is_no_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "register_at_fork", raising=False)

    service = Service()

    reset_in_child(service.reset)

    assert service.resets == 0
