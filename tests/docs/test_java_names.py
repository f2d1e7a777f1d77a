"""Who comes from Java finds each name: the page names what is there, and all of what is there."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

_ROOT = Path(__file__).parents[2]
_PAGE = _ROOT / "docs" / "reference" / "java-names.md"
_CODE = re.compile(r"`([^`]+)`")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_ROW = re.compile(r"^\| (?P<java>[^|]+) \| (?P<here>[^|]+) \| (?P<modules>[^|]+) \|$", re.MULTILINE)

_ONLY_HERE = re.compile(r"^\| (`[^|]+) \|", re.MULTILINE)


@attrs.frozen
class Row:
    java: str
    names: tuple[str, ...]
    modules: tuple[str, ...]

    def __str__(self) -> str:
        return self.java


def rows() -> Iterator[Row]:
    for row in _ROW.finditer(_PAGE.read_text()):
        names = tuple(name for name in _CODE.findall(row["here"]) if _NAME.fullmatch(name))
        modules = tuple(_CODE.findall(row["modules"]))
        if modules:
            yield Row(row["java"], tuple(one for one in names if one != "with"), modules)


@pytest.mark.parametrize("row", list(rows()), ids=str)
def test_what_has_a_name_in_java_can_be_imported_here(row: Row) -> None:
    modules = [importlib.import_module(name) for name in row.modules]

    assert row.names
    for name in row.names:
        found = [module for module in modules if _has(module, name.split("."))]
        assert found, f"{name} is in none of {', '.join(row.modules)}"


def test_the_page_has_all_parts() -> None:
    assert len(list(rows())) > 50


def packages() -> Iterator[str]:
    """Return every package that says what it offers; errors have a page of their own."""
    adapters = sorted((_ROOT / "adapters").glob("*/__init__.py"))
    for found in (*sorted((_ROOT / "pragmatic_ddd").glob("**/__init__.py")), *adapters):
        start = _ROOT if found not in adapters else _ROOT / "adapters"
        name = ".".join(found.parent.relative_to(start).parts)
        if "__all__" in found.read_text() and name != "pragmatic_ddd.errors":
            yield name


@pytest.mark.parametrize("package", list(packages()))
def test_every_public_name_is_on_the_page(package: str) -> None:
    offered = set(importlib.import_module(package).__all__)

    assert offered - set(_CODE.findall("".join(_sections()))) == set()


def test_what_is_only_here_is_here() -> None:
    names = {name for row in _ONLY_HERE.findall(_sections()[1]) for name in _CODE.findall(row)}
    offered = {name for one in packages() for name in importlib.import_module(one).__all__}

    assert names
    assert names - offered == set()


def _sections() -> tuple[str, str]:
    """Return what the page says is here under a name of Java, and only here."""
    here, _, rest = _PAGE.read_text().partition("## What is not here")
    return here, rest.partition("## What is only here")[2]


def _has(owner: object, path: list[str]) -> bool:
    for part in path:
        fields = attrs.fields_dict(owner) if isinstance(owner, type) and attrs.has(owner) else {}
        if not hasattr(owner, part):
            return part in fields and part == path[-1]
        owner = getattr(owner, part)
    return True
