"""The matrix: every supported Python, with the oldest and the newest packages we accept.

`make test` runs the locked versions; this file is for what the lock does not show.
"""

import nox

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
KNOWN_TO_THE_OLDEST_PACKAGES = ["3.11", "3.12", "3.13"]

nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = False


@nox.session(python=KNOWN_TO_THE_OLDEST_PACKAGES)
def minimum(session: nox.Session) -> None:
    """Run the tests with the oldest packages that pyproject.toml accepts."""
    session.install("--require-hashes", "-r", "requirements/minimum.txt")
    session.install("--no-deps", "--no-build-isolation", "--editable", ".")
    session.run("pytest", *session.posargs)


@nox.session(python=PYTHONS)
def latest(session: nox.Session) -> None:
    """Run the tests with the newest packages there are."""
    session.install("-r", "requirements/test.in", "--editable", ".[all]")
    session.run("pytest", *session.posargs)


@nox.session(python=PYTHONS)
def latest_grpc(session: nox.Session) -> None:
    """Run the tests of RocketMQ's gRPC client, which has no place beside its other one."""
    session.install("-r", "requirements/test.in", "--editable", ".[orjson,rocketmq-grpc,testing]")
    session.run("pytest", "tests/adapters/rocketmq_grpc", *session.posargs)
