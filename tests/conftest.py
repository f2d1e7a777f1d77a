"""What every test run needs: readable failures, quick children, tests that know their services."""

import gc
import os
import tempfile

import pytest

from tests import servers

pytest.register_assert_rewrite("pragmatic_ddd.testing")


def pytest_configure(config: pytest.Config) -> None:
    """Let each child process read what another one has compiled, though nobody keeps such files.

    They are in a folder that ends with this run.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        compiled = tempfile.TemporaryDirectory(prefix="pragmatic-ddd-pycache-")
        os.environ["PYTHONPYCACHEPREFIX"] = compiled.name
        config.add_cleanup(compiled.cleanup)


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
    reason = f"needs {service}; start it with: make services"
    if servers.is_required(service):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
