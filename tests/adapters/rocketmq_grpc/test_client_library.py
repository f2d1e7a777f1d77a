"""Importing the client: without its side effects, and never beside the remoting client."""

from pathlib import Path

import pytest

from pragmatic_ddd_rocketmq_grpc import GrpcClientError, client_library
from pragmatic_ddd_rocketmq_grpc.client_library import (
    GRPC_CLIENT,
    REMOTING_CLIENT,
    load_client_library,
)
from tests.adapters.rocketmq_grpc import child
from tests.adapters.rocketmq_grpc.shop import an_event_manager

_NO_PREAMBLE = ""


def _installed(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    known = {name.replace("_", "-"): version for name, version in versions.items()}
    monkeypatch.setattr(client_library, "_version_of", known.get)


def test_the_import_leaves_logging_and_the_home_folder_alone(tmp_path: Path) -> None:
    result = child.run(
        """
        import io, logging, logging.handlers
        said = io.StringIO()
        handler = logging.handlers.MemoryHandler(1000, target=logging.StreamHandler(said))
        logging.getLogger().addHandler(handler)
        closed = []
        handler.close = lambda: closed.append(True)

        from pragmatic_ddd_rocketmq_grpc.client_library import LOGGER_NAME, load_client_library
        load_client_library()

        logger = logging.getLogger(LOGGER_NAME)
        assert not closed, "the handlers that the application had set up are closed"
        assert handler in logging.getLogger().handlers
        assert not logger.handlers and logger.propagate and logger.level == logging.NOTSET
        from rocketmq.v5.log import logger as theirs
        assert theirs is logger
        """,
        environment={"HOME": str(tmp_path)},
        preamble=_NO_PREAMBLE,
    )

    assert result.returncode == 0, result.stderr
    assert list(tmp_path.iterdir()) == []


def test_importing_the_adapter_does_not_import_the_client() -> None:
    result = child.run(
        """
        import sys
        import pragmatic_ddd_rocketmq_grpc
        print([name for name in sys.modules if name.startswith(("rocketmq", "grpc"))])
        """,
        preamble=_NO_PREAMBLE,
    )

    assert result.stdout.strip() == "[]", result.stderr


def test_loading_starts_no_thread() -> None:
    result = child.run(
        """
        import threading
        from pragmatic_ddd_rocketmq_grpc.client_library import load_client_library
        load_client_library()
        print(threading.active_count())
        """,
        preamble=_NO_PREAMBLE,
    )

    assert result.stdout.strip() == "1", result.stderr


def test_both_clients_in_one_environment_are_an_error_that_says_what_to_do(
    tmp_path: Path,
) -> None:
    """As an installer leaves it: what is found is the metadata of both."""
    metadata = tmp_path / "rocketmq_client_python-2.0.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: rocketmq-client-python\nVersion: 2.0.0\n"
    )

    result = child.run(
        f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from pragmatic_ddd_rocketmq_grpc import GrpcClientError
        from tests.adapters.rocketmq_grpc.shop import an_event_manager
        try:
            an_event_manager("events").start()
        except GrpcClientError as error:
            print(error)
        assert "grpc" not in sys.modules
        """,
        preamble=_NO_PREAMBLE,
    )

    assert "are both installed" in result.stdout, result.stderr
    assert "uninstall both, then install the one that you use" in result.stdout


@pytest.mark.parametrize(
    ("versions", "advice"),
    [
        ({}, r"is not installed; .*pip install 'pragmatic-ddd\[rocketmq-grpc\]'"),
        ({"rocketmq_client_python": "2.0.0"}, "uninstall the first, then install the second"),
        ({"rocketmq_python_client": "5.1.1"}, "5.1.1 is installed: .*>=5.1.2,<5.2 is needed"),
        ({"rocketmq_python_client": "5.2.0"}, "5.2.0 is installed: .*>=5.1.2,<5.2 is needed"),
        ({"rocketmq_python_client": "6"}, "6 is installed: .*>=5.1.2,<5.2 is needed"),
    ],
)
def test_what_is_missing_or_does_not_fit_is_said(
    versions: dict[str, str], advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _installed(monkeypatch, **versions)

    with pytest.raises(GrpcClientError, match=advice):
        load_client_library()
    with pytest.raises(GrpcClientError, match=advice):
        an_event_manager("events").start()


def test_a_later_version_of_the_same_kind_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    _installed(monkeypatch, rocketmq_python_client="5.1.10")

    assert load_client_library().producer is not None


def test_a_client_that_lacks_something_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import rocketmq

    monkeypatch.delattr(rocketmq, "SimpleConsumer")

    with pytest.raises(GrpcClientError, match=f"cannot import {GRPC_CLIENT}.*SimpleConsumer"):
        load_client_library()


def test_the_names_of_the_two_clients_are_easily_mixed_up() -> None:
    assert {GRPC_CLIENT, REMOTING_CLIENT} == {"rocketmq-python-client", "rocketmq-client-python"}
