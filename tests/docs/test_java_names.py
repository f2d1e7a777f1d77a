"""Who comes from Java finds each name: the page names what is there, and all of what is there."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "java-names.md"
_CODE = re.compile(r"`([^`]+)`")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_ROW = re.compile(r"^\| (?P<java>[^|]+) \| (?P<here>[^|]+) \| (?P<modules>[^|]+) \|$", re.MULTILINE)


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


@pytest.mark.parametrize("package", ["pragmatic_ddd.domain", "pragmatic_ddd.ports"])
def test_every_public_name_of_the_core_is_on_the_page(package: str) -> None:
    offered = set(importlib.import_module(package).__all__)

    assert offered - set(_CODE.findall(_PAGE.read_text())) == set()


def _has(owner: object, path: list[str]) -> bool:
    for part in path:
        fields = attrs.fields_dict(owner) if isinstance(owner, type) and attrs.has(owner) else {}
        if not hasattr(owner, part):
            return part in fields and part == path[-1]
        owner = getattr(owner, part)
    return True
