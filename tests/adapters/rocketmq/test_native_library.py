"""What can be wrong with the native library, and what a user reads then."""

import importlib.metadata
import shutil
import subprocess
from pathlib import Path

import pytest

from pragmatic_ddd_rocketmq import native_library
from pragmatic_ddd_rocketmq.errors import NativeLibraryError
from pragmatic_ddd_rocketmq.native_library import LIBRARY_VARIABLE, load_native_library
from tests import servers
from tests.adapters.rocketmq import child

needs_library = pytest.mark.skipif(
    servers.rocketmq_library() is None, reason="needs librocketmq; fetch it with: make services"
)

LOAD_A_FILE = """
from pathlib import Path
from pragmatic_ddd_rocketmq.native_library import load_native_library
try:
    load_native_library(Path(os.environ["FILE"]))
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.fixture(autouse=True)
def _nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_library, "_loaded", None)


def test_a_file_that_is_not_there_is_named_with_what_to_install() -> None:
    with pytest.raises(
        NativeLibraryError, match=r"no librocketmq at /nowhere.*rocketmq-client-cpp"
    ):
        load_native_library(Path("/nowhere/librocketmq.so"))


def test_the_environment_names_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIBRARY_VARIABLE, "/nowhere/else.so")

    with pytest.raises(NativeLibraryError, match=r"/nowhere/else\.so"):
        load_native_library()


def test_no_library_at_all_says_what_to_install(tmp_path: Path) -> None:
    result = child.run(
        """
        import ctypes.util
        ctypes.util.find_library = lambda name: None
        from pragmatic_ddd_rocketmq.native_library import load_native_library
        try:
            load_native_library()
        except Exception as error:
            print(type(error).__name__, error)
        """,
        environment={LIBRARY_VARIABLE: ""},
    )

    assert (
        "NativeLibraryError rocketmq dynamic library not found; install Apache's" in result.stdout
    )


def test_a_file_that_is_no_library_cannot_be_loaded(tmp_path: Path) -> None:
    broken = tmp_path / "librocketmq.so"
    broken.write_text("not a library")

    result = child.run(LOAD_A_FILE, environment={"FILE": str(broken)})

    assert "NativeLibraryError cannot load librocketmq" in result.stdout
    assert "rocketmq-client-cpp" in result.stdout


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_another_library_is_found_out(tmp_path: Path) -> None:
    other = tmp_path / "librocketmq.so"
    source = tmp_path / "other.c"
    source.write_text("int CreateMessage(void) { return 0; }")
    subprocess.run(["cc", "-shared", "-o", str(other), str(source)], check=True)

    result = child.run(LOAD_A_FILE, environment={"FILE": str(other)})

    assert "NativeLibraryError" in result.stdout
    assert "too old or not RocketMQ's C++ client" in result.stdout


def test_a_platform_without_the_client_is_named() -> None:
    result = child.run(
        """
        from pathlib import Path
        sys.platform = "win32"
        from pragmatic_ddd_rocketmq.native_library import load_native_library
        try:
            load_native_library()
        except Exception as error:
            print(type(error).__name__, error)
        """
    )

    assert "NativeLibraryError rocketmq-python does not support Windows" in result.stdout


@pytest.mark.parametrize(
    ("installed", "reason"),
    [
        ({"rocketmq-python-client", "rocketmq-client-python"}, "both installed"),
        ({"rocketmq-python-client"}, "uninstall the first"),
    ],
)
def test_the_other_client_in_the_environment_is_named(
    monkeypatch: pytest.MonkeyPatch, installed: set[str], reason: str
) -> None:
    def version(name: str) -> str:
        if name in installed:
            return "5.1.2"
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)

    with pytest.raises(NativeLibraryError, match=reason):
        load_native_library()


def test_without_the_python_package_the_extra_is_named() -> None:
    result = child.run(
        """
        import importlib.util
        sys.modules["rocketmq"] = None
        from pragmatic_ddd_rocketmq import native_library
        try:
            native_library.load_native_library()
        except Exception as error:
            print(type(error).__name__, error)
        """,
        environment={LIBRARY_VARIABLE: ""},
    )

    assert "NativeLibraryError" in result.stdout
    assert "pip install 'pragmatic-ddd[rocketmq]'" in result.stdout


def test_a_log_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(NativeLibraryError, match="log folder"):
        load_native_library(log_folder=file / "logs")


@needs_library
def test_a_library_that_was_loaded_before_is_returned_again() -> None:
    result = child.run(
        """
        from pathlib import Path
        import ctypes.util
        import logging
        logging.basicConfig(format="%(message)s", stream=sys.stdout)
        original = ctypes.util.find_library
        first = a_library()
        from pragmatic_ddd_rocketmq.native_library import load_native_library
        assert load_native_library() is first
        assert load_native_library(Path("/another.so")) is first
        assert ctypes.util.find_library is original
        print(first.version is not None)
        """
    )

    assert "/another.so is not used" in result.stdout
    assert result.stdout.splitlines()[-1] == "True", result.stderr


@needs_library
def test_a_log_folder_is_made_and_used(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "logs"
    result = child.run(
        """
        from pathlib import Path
        from pragmatic_ddd_rocketmq.native_library import load_native_library
        library = load_native_library(a_config().library_path, Path(os.environ["FOLDER"]))
        from pragmatic_ddd_rocketmq.native_producer import NativeProducer
        producer = NativeProducer(library=library, name_servers=name_servers(), group="logs",
                                  send_timeout=timedelta(seconds=3))
        producer.start()
        producer.close(within=timedelta(seconds=3))
        """,
        environment={"FOLDER": str(folder)},
    )

    assert result.returncode == 0, result.stderr
    assert list(folder.glob("*.log*"))


@pytest.mark.parametrize(
    ("text", "version", "works"),
    [
        ("CPP CORE VERSION: 2.1.0_cvs, BUILD TIME: 2023-09-07", (2, 1, 0), False),
        ("VERSION: 2.2.0, BUILD DATE: 08-12-2020", (2, 2, 0), True),
        ("VERSION: 10.0.1", (10, 0, 1), True),
        ("", None, False),
    ],
)
def test_the_version_says_whether_a_consumer_can_be_shut_down(
    text: str, version: tuple[int, int, int] | None, works: bool
) -> None:
    library = native_library.NativeLibrary(
        functions=None,
        messages=None,  # type: ignore[arg-type]  # it is not called
        send_orderly=lambda: 0,
        register_orderly=lambda: None,
        version_text=text,
        path="",
    )

    assert library.version == version
    assert library.can_shut_down_consumers is works
