"""The package ``rocketmq-python-client``, found, checked, and imported without its side effects.

Its import sets up a log file below the user's home and closes the handlers that the application
has set up. So the module that does it is replaced by one that only has a logger, which leaves its
records to the application.

gRPC prepares for forks, and of processes that are forked beside a client's thread a quarter end in
a segmentation fault, whatever they would do. Here no client outlives a fork, so that is left out.

It shares the import name ``rocketmq`` with the remoting client: an environment has one of them.
"""

import importlib
import importlib.metadata
import logging
import os
import re
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import attrs

from pragmatic_ddd_rocketmq_grpc.errors import GrpcClientError

GRPC_CLIENT: Final = "rocketmq-python-client"
REMOTING_CLIENT: Final = "rocketmq-client-python"
LOGGER_NAME: Final = "rocketmq-python-client"

_FORK_VARIABLE: Final = "GRPC_ENABLE_FORK_SUPPORT"
_LOG_MODULE: Final = "rocketmq.v5.log"
_FIRST: Final = (5, 1, 2)
_BEYOND: Final = (5, 2)
_WANTED: Final = f"{GRPC_CLIENT}>=5.1.2,<5.2"
_ADVICE: Final = f"install it with pip install 'pragmatic-ddd[rocketmq-grpc]', which is {_WANTED}"


@attrs.frozen(kw_only=True, repr=False)
class ClientLibrary:
    """What is used of the client, and nothing else of it.

    Attributes:
        configuration: Class of the settings of a client.
        credentials: Class of an account.
        producer: Class of a client that sends.
        simple_consumer: Class of a client that asks for messages.
        filter_expression: Class of what is subscribed to.
        rpc_client: Class whose threads all clients share.
        queue_selector: Class that chooses a broker for a message group.
        message_ids: Makes ids of messages.
        protocol: The messages of the protocol.
    """

    configuration: Any
    credentials: Any
    producer: Any
    simple_consumer: Any
    filter_expression: Any
    rpc_client: Any
    queue_selector: Any
    message_ids: Any
    protocol: Any


_loading = threading.Lock()


def load_client_library() -> ClientLibrary:
    """Import the client, once in a process; it starts no thread and opens nothing.

    Raises:
        GrpcClientError: It is missing, is another version, or the remoting client is installed
            beside it; says what to install.
    """
    with _loading:
        _check_installed()
        _keep_its_logging_out()
        try:
            with _without_fork_support():
                return _imported()
        except (ImportError, AttributeError) as error:
            raise GrpcClientError(f"cannot import {GRPC_CLIENT} ({error}); {_ADVICE}") from error


def _check_installed() -> None:
    version = _version_of(GRPC_CLIENT)
    is_remoting_there = _version_of(REMOTING_CLIENT) is not None
    if version is None and is_remoting_there:
        raise GrpcClientError(
            f"{REMOTING_CLIENT} (remoting) is installed, and {GRPC_CLIENT} (gRPC) is not; one "
            f"environment has one of them: uninstall the first, then install the second; or use "
            f"RocketMqEventManager of pragmatic_ddd_rocketmq"
        )
    if version is None:
        raise GrpcClientError(f"{GRPC_CLIENT} is not installed; {_ADVICE}")
    if is_remoting_there:
        raise GrpcClientError(
            f"{GRPC_CLIENT} (gRPC) and {REMOTING_CLIENT} (remoting) are both installed; each "
            f"overwrites the package 'rocketmq' of the other, so only one of them works in one "
            f"environment: uninstall both, then install the one that you use"
        )
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
    if not _FIRST <= numbers < _BEYOND:
        raise GrpcClientError(f"{GRPC_CLIENT} {version} is installed: {_WANTED} is needed")


def _version_of(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _keep_its_logging_out() -> None:
    """Answer for the module that sets up logging, unless somebody has imported it before."""
    if _LOG_MODULE not in sys.modules:
        module = types.ModuleType(_LOG_MODULE, "A logger, which leaves its records to others.")
        module.logger = logging.getLogger(LOGGER_NAME)  # type: ignore[attr-defined]  # is what it has
        sys.modules[_LOG_MODULE] = module


@contextmanager
def _without_fork_support() -> Iterator[None]:
    """Have gRPC, which asks once, not prepare for forks, unless somebody has decided about it."""
    if _FORK_VARIABLE in os.environ:
        yield
        return
    os.environ[_FORK_VARIABLE] = "0"
    try:
        yield
    finally:
        del os.environ[_FORK_VARIABLE]


def _imported() -> ClientLibrary:
    client = importlib.import_module("rocketmq")
    connection = importlib.import_module("rocketmq.v5.client.connection")
    balancer = importlib.import_module("rocketmq.v5.client.balancer")
    util = importlib.import_module("rocketmq.v5.util")
    return ClientLibrary(
        configuration=client.ClientConfiguration,
        credentials=client.Credentials,
        producer=client.Producer,
        simple_consumer=client.SimpleConsumer,
        filter_expression=client.FilterExpression,
        rpc_client=connection.RpcClient,
        queue_selector=balancer.QueueSelector,
        message_ids=util.MessageIdCodec,
        protocol=importlib.import_module("rocketmq.grpc_protocol"),
    )
