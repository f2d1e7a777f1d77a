import os

import pytest

from pragmatic_ddd.application.events import Lifecycle
from pragmatic_ddd.errors import InfrastructureError


def test_it_works_from_the_start_to_the_shutdown() -> None:
    lifecycle = Lifecycle("Manager")
    assert lifecycle.obstacle() == "Manager has not been started: call start()"

    assert lifecycle.start()
    assert lifecycle.obstacle() is None

    assert lifecycle.shut_down()
    assert lifecycle.obstacle() == "Manager has been shut down"


def test_a_second_call_does_nothing_more() -> None:
    lifecycle = Lifecycle("Manager")

    assert [lifecycle.start(), lifecycle.start()] == [True, False]
    assert [lifecycle.shut_down(), lifecycle.shut_down()] == [True, False]


def test_what_was_never_started_has_nothing_to_let_go_of() -> None:
    lifecycle = Lifecycle("Manager")

    assert not lifecycle.shut_down()
    with pytest.raises(InfrastructureError, match="Manager cannot start: it has been shut down"):
        lifecycle.start()


def test_a_forked_process_is_not_the_one_that_started(monkeypatch: pytest.MonkeyPatch) -> None:
    lifecycle = Lifecycle("Manager")
    lifecycle.start()
    monkeypatch.setattr(os, "getpid", lambda: 1)

    assert "forked" in str(lifecycle.obstacle())
    assert not lifecycle.shut_down()
