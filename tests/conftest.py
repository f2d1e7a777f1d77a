"""What every test run needs: readable failures, quick children, tests that know their services."""

import gc
import importlib.metadata
import os
import tempfile
from pathlib import Path

import pytest

from tests import servers

_BUILD = Path(__file__).parent.parent / "build"
_GRPC_TESTS = Path(__file__).parent / "adapters" / "rocketmq_grpc"
_HAS_GRPC_CLIENT = any(importlib.metadata.distributions(name="rocketmq-python-client"))

pytest.register_assert_rewrite("pragmatic_ddd.testing")


def pytest_configure(config: pytest.Config) -> None:
    """Let each child process read what another one has compiled, though nobody keeps such files.

    They are in a folder that ends with this run, and where it was killed with the next
    ``make clean``.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        _BUILD.mkdir(exist_ok=True)
        compiled = tempfile.TemporaryDirectory(prefix="pycache-", dir=_BUILD)
        os.environ["PYTHONPYCACHEPREFIX"] = compiled.name
        config.add_cleanup(compiled.cleanup)


def pytest_report_header() -> str | None:
    """Say which tests this environment leaves to the other one."""
    return None if _HAS_GRPC_CLIENT else f"{_GRPC_TESTS.name}: left to .venv-grpc"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave the tests of RocketMQ's gRPC client to the environment that has it."""
    return True if collection_path == _GRPC_TESTS and not _HAS_GRPC_CLIENT else None


def pytest_collection_finish() -> None:
    """Have no test that looks for garbage look through thousands of collected tests."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose service is not there; fail it where services are required."""
    for mark in item.iter_markers("service"):
        for service in mark.args:
            if not servers.answers(service):
                _miss(service)


def _miss(service: str) -> None:
    target = "setup" if service.endswith("-python") else "services"
    reason = f"needs {service}; for that there is: make {target}"
    if servers.is_required(service):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
