"""The native library under ``rocketmq-client-python``, found, checked and loaded.

The Python package is a thin layer over ``librocketmq``, which pip does not install: users
install Apache's rocketmq-client-cpp 2.2 or newer, or name the file. One library is loaded in
one process, once; whatever fails on the way is one clear error.
"""

import ctypes
import ctypes.util
import importlib
import importlib.metadata
import importlib.util
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from pragmatic_ddd_rocketmq.errors import NativeLibraryError
from pragmatic_ddd_rocketmq.message_functions import MessageFunctions

LIBRARY_VARIABLE = "PRAGMATIC_DDD_ROCKETMQ_LIBRARY"
LOG_FOLDER_VARIABLE = "ROCKETMQ_CLIENT_LOG_DIR"

_logger = logging.getLogger(__name__)

_GRPC_CLIENT = "rocketmq-python-client"
_REMOTING_CLIENT = "rocketmq-client-python"
_LIBRARY_NAME = "rocketmq"
_LOAD_TIMEOUT_SECONDS = 60.0
_CONSUMER_SHUTDOWN_WORKS_SINCE = (2, 2, 0)
_VERSION_PATTERN = re.compile(r"VERSION:\s*(\d+)\.(\d+)\.(\d+)")
_ADVICE = (
    "install Apache's rocketmq-client-cpp 2.2 or newer so that the system's loader finds "
    f"librocketmq, or name the file in the setting rocketmq.library or in {LIBRARY_VARIABLE}"
)


class SendResult(ctypes.Structure):
    """What a broker answered, as the library lays it out (CSendResult.h)."""

    _fields_ = (
        ("send_status", ctypes.c_int),
        ("message_id", ctypes.c_char * 256),
        ("queue_offset", ctypes.c_longlong),
    )


# int select(int queues, CMessage* message, void* argument)
QueueSelector = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

# int consume(CPushConsumer* consumer, CMessageExt* message)
MessageCallback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


@attrs.frozen(kw_only=True)
class NativeLibrary:
    """The loaded library.

    Attributes:
        functions: Its functions by the names of the C API, declared by the Python package.
        messages: Those of them that make a message.
        send_orderly: ``SendMessageOrderly``, which the Python package does not declare.
        register_orderly: ``RegisterMessageCallbackOrderly``, without its undefined result.
        version_text: What it says of itself.
        path: The file, as the loader was given it.
    """

    functions: Any  # ctypes.CDLL: an attribute for every function of the library
    messages: MessageFunctions
    send_orderly: Callable[..., int] = attrs.field(repr=False)
    register_orderly: Callable[..., None] = attrs.field(repr=False)
    version_text: str
    path: str

    @property
    def version(self) -> tuple[int, int, int] | None:
        """Its version; ``None`` where its text names none."""
        found = _VERSION_PATTERN.search(self.version_text)
        return (int(found[1]), int(found[2]), int(found[3])) if found else None

    @property
    def can_shut_down_consumers(self) -> bool:
        """Whether shutting a consumer down works: before 2.2.0 it ends the process (SIGSEGV)."""
        return self.version is not None and self.version >= _CONSUMER_SHUTDOWN_WORKS_SINCE

    def last_error(self) -> str:
        """Return what it says of the last failure in this thread."""
        text: bytes | None = self.functions.GetLatestErrorMessage()
        return (text or b"").decode(errors="replace")


_loaded: NativeLibrary | None = None  # one per process: the loader could not unload it
_loading = threading.Lock()


def load_native_library(path: Path | None = None, log_folder: Path | None = None) -> NativeLibrary:
    """Load the library, or return the one that this process has loaded before.

    Args:
        path: The file; else the one that ``PRAGMATIC_DDD_ROCKETMQ_LIBRARY`` names; else
            whatever the system's loader finds. Counts in the first call only.
        log_folder: Where the library writes its log files, made if needed; its own choice
            where ``None``. Counts in the first call only.

    Raises:
        NativeLibraryError: It is missing, too old, or cannot be loaded; says what to install.
    """
    global _loaded  # noqa: PLW0603 - a native library is global by nature
    if not _loading.acquire(timeout=_LOAD_TIMEOUT_SECONDS):
        raise NativeLibraryError("another thread has been loading librocketmq for a minute")
    try:
        if _loaded is None:
            _refuse_grpc_client()
            _set_log_folder(log_folder)
            _loaded = _load(_chosen(path))
        elif path is not None and str(path) != _loaded.path:
            _logger.warning(
                "librocketmq is loaded from %s already; %s is not used", _loaded.path, path
            )
        return _loaded
    finally:
        _loading.release()


def _refuse_grpc_client() -> None:
    """Refuse before the import, which would set up the gRPC client's logging and folders."""
    if not _is_installed(_GRPC_CLIENT):
        return
    if _is_installed(_REMOTING_CLIENT):
        raise NativeLibraryError(
            f"{_GRPC_CLIENT} (gRPC) and {_REMOTING_CLIENT} (remoting) are both installed; each "
            f"overwrites the package 'rocketmq' of the other, so only one of them works in one "
            f"environment: uninstall both, then install the one that you use"
        )
    raise NativeLibraryError(
        f"{_GRPC_CLIENT} (gRPC) is installed, and {_REMOTING_CLIENT} (remoting) is not; one "
        f"environment has one of them: uninstall the first, then install the second"
    )


def _is_installed(distribution: str) -> bool:
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _set_log_folder(log_folder: Path | None) -> None:
    """Tell the library, which reads the variable once, where to write its log files."""
    if log_folder is None:
        return
    try:
        log_folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NativeLibraryError(f"cannot make the log folder {log_folder}: {error}") from error
    if not os.access(log_folder, os.W_OK | os.X_OK):
        raise NativeLibraryError(f"cannot write to the log folder {log_folder}")
    os.environ[LOG_FOLDER_VARIABLE] = str(log_folder)


def _chosen(path: Path | None) -> Path | None:
    """Return the file that somebody named.

    Raises:
        NativeLibraryError: It is not there, or the Python package would not take it.
    """
    named = path or (Path(text) if (text := os.environ.get(LIBRARY_VARIABLE)) else None)
    if named is None:
        return None
    if not named.is_file():
        raise NativeLibraryError(f"there is no librocketmq at {named}; {_ADVICE}")
    spec = importlib.util.find_spec("rocketmq")
    for folder in (spec and spec.submodule_search_locations) or ():
        packed = Path(folder) / "librocketmq.so"
        if packed.exists() and not packed.samefile(named):
            raise NativeLibraryError(
                f"the package 'rocketmq' always loads its own {packed} and would not take {named}: "
                f"remove one of them"
            )
    return named


def _load(path: Path | None) -> NativeLibrary:
    try:
        with _answering_for_rocketmq(path):
            ffi = importlib.import_module("rocketmq.ffi")
        return _declared(ffi.dll, str(path) if path else ffi.dll._name)  # noqa: SLF001 - ctypes
    except ModuleNotFoundError as error:
        raise NativeLibraryError(
            f"{error}; install the client: pip install 'pragmatic-ddd[rocketmq]'"
        ) from error
    except ImportError as error:
        raise NativeLibraryError(f"{error}; {_ADVICE}") from error
    except AttributeError as error:
        raise NativeLibraryError(
            f"{path or 'librocketmq'} is too old or not RocketMQ's C++ client ({error}); {_ADVICE}"
        ) from error
    except OSError as error:
        raise NativeLibraryError(f"cannot load librocketmq ({error}); {_ADVICE}") from error
    except NotImplementedError as error:
        raise NativeLibraryError(
            f"{error}; use the gRPC client ({_GRPC_CLIENT}) or run on Linux"
        ) from error


@contextmanager
def _answering_for_rocketmq(path: Path | None) -> Iterator[None]:
    """Make ``ctypes.util.find_library`` know the file while ``rocketmq.ffi`` asks for it."""
    if path is None:
        yield
        return
    original = ctypes.util.find_library

    def find_library(name: str) -> str | None:
        return str(path) if name == _LIBRARY_NAME else original(name)

    ctypes.util.find_library = find_library
    try:
        yield
    finally:
        ctypes.util.find_library = original


def _declared(functions: Any, path: str) -> NativeLibrary:  # noqa: ANN401 - ctypes.CDLL
    send = ctypes.CFUNCTYPE(
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_void_p,
        QueueSelector,
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.POINTER(SendResult),
    )
    register = ctypes.CFUNCTYPE(None, ctypes.c_void_p, MessageCallback)
    return NativeLibrary(
        functions=functions,
        messages=MessageFunctions.of(functions),
        send_orderly=send(("SendMessageOrderly", functions)),
        register_orderly=register(("RegisterMessageCallbackOrderly", functions)),
        version_text=_version_text(functions),
        path=path,
    )


def _version_text(functions: Any) -> str:  # noqa: ANN401 - ctypes.CDLL
    """Ask a producer that is never started, so that neither thread nor connection comes of it."""
    show = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(("ShowProducerVersion", functions))
    handle = functions.CreateProducer(b"version")
    try:
        return (show(handle) or b"").decode(errors="replace")
    finally:
        functions.DestroyProducer(handle)
