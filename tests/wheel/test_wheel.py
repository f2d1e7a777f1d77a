"""The wheel: what is in it, and that it works away from the clone."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests import servers

_ROOT = Path(__file__).parent.parent.parent
_ADAPTERS = sorted(path.parent.name for path in _ROOT.glob("adapters/*/__init__.py"))
_NO_INDEX = re.compile(r"Retrying \(Retry|Could not fetch URL|Failed to establish|timed out")
_IMPORT_THE_CORE = """
import importlib, pkgutil, sys

def import_all(package):
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if found.name != "pragmatic_ddd.testing":
            module = importlib.import_module(found.name)
            if found.ispkg:
                import_all(module)

before = set(sys.modules)
import_all(importlib.import_module("pragmatic_ddd"))
print(*{name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(_ROOT)], check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    return tomllib.loads((_ROOT / "pyproject.toml").read_text())


def test_the_wheel_holds_the_core_and_the_adapters_and_nothing_else(wheel: Path) -> None:
    top_level = {name.split("/")[0] for name in _names_in(wheel)}

    assert {name for name in top_level if not name.endswith(".dist-info")} == {
        "pragmatic_ddd",
        *_ADAPTERS,
    }


@pytest.mark.parametrize("package", ["pragmatic_ddd", *_ADAPTERS])
def test_every_package_in_the_wheel_is_typed(wheel: Path, package: str) -> None:
    assert f"{package}/py.typed" in _names_in(wheel)


def test_the_wheel_carries_its_licence(wheel: Path) -> None:
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in _names_in(wheel))


def test_pyproject_lists_every_adapter(pyproject: dict[str, Any]) -> None:
    packages = pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]

    assert packages == ["pragmatic_ddd", *(f"adapters/{name}" for name in _ADAPTERS)]


def test_the_import_rules_know_every_adapter(pyproject: dict[str, Any]) -> None:
    rules = pyproject["tool"]["importlinter"]
    (independence,) = (c for c in rules["contracts"] if c["type"] == "independence")

    assert rules["root_packages"] == ["pragmatic_ddd", *_ADAPTERS]
    assert independence["modules"] == _ADAPTERS


def test_the_extra_all_has_every_other_extra_that_fits_in(pyproject: dict[str, Any]) -> None:
    extras = pyproject["project"]["optional-dependencies"]
    in_the_place_of_another = {"rocketmq-grpc"}

    (everything,) = extras["all"]

    others = set(extras) - {"all"} - in_the_place_of_another
    assert everything == f"pragmatic-ddd[{','.join(sorted(others))}]"


def test_the_core_imports_attrs_and_the_standard_library_only(tmp_path: Path) -> None:
    script = tmp_path / "import_the_core.py"
    script.write_text(_IMPORT_THE_CORE)

    imported = set(_run(sys.executable, str(script), cwd=tmp_path).split())

    assert imported <= {"attr", "attrs", "pragmatic_ddd"}


@pytest.mark.package_index
@pytest.mark.timeout(600)
def test_the_wheel_runs_the_quickstart_in_an_environment_of_its_own(
    wheel: Path, tmp_path: Path
) -> None:
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    _install(python, f"{wheel}[sqlalchemy,orjson]", folder=tmp_path)
    quickstart = str(shutil.copy(_ROOT / "examples" / "quickstart.py", tmp_path))

    printed = _run(str(python), quickstart, cwd=tmp_path)

    assert printed.strip()
    assert _run(
        str(python), "-c", "import pragmatic_ddd; print(pragmatic_ddd.__file__)", cwd=tmp_path
    ).startswith(str(tmp_path))


def _names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def _install(python: Path, requirement: str, *, folder: Path) -> None:
    """Install a requirement and the locked versions of what it needs."""
    constraints = folder / "constraints.txt"
    locked = (_ROOT / "requirements" / "dev.txt").read_text()
    constraints.write_text("\n".join(re.findall(r"^[\w.-]+==[^\\\n]+", locked, re.MULTILINE)))
    # By this environment's pip; and what is imported once need not be compiled beforehand.
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    install = [*pip, "install", "--quiet", "--no-compile", "--constraint", str(constraints)]
    done = subprocess.run(
        [*install, requirement], capture_output=True, text=True, check=False, cwd=folder
    )
    unreachable = done.returncode != 0 and _NO_INDEX.search(done.stderr)
    if unreachable and not servers.is_required("package_index"):
        pytest.skip("needs a package index")
    assert done.returncode == 0, done.stderr


def _run(*command: str, cwd: Path) -> str:
    """Run a command outside the clone; returns what it printed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
