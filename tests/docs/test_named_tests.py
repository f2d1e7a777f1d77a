"""A test that a page names, as in `tests/unit/test_x.py::test_y`, exists."""

import ast
import functools
import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent.parent
_PAGES = [
    page
    for page in (
        _ROOT / "README.md",
        *sorted((_ROOT / "docs").glob("**/*.md")),
        *sorted((_ROOT / "tests").glob("**/README.md")),
    )
    if "::" in page.read_text(encoding="utf-8")
]
_NAMED = re.compile(r"\b(?P<file>(?:tests|pragmatic_ddd)/[\w./-]*)::(?P<name>\w+(?:::\w+)*)")


def _problems(page: Path, root: Path = _ROOT) -> list[str]:
    """Return page, line and name of each named test that does not exist."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return [
        f"{page.relative_to(root)}:{number}: there is no {named[0]}"
        for number, line in enumerate(lines, 1)
        for named in _NAMED.finditer(line)
        if not _exists(root, named["file"], named["name"])
    ]


def _exists(root: Path, file: str, name: str) -> bool:
    path = root / file
    if path.suffix != ".py" or not path.is_file():
        return False
    *classes, test = name.split("::")
    if not classes:
        return test in _tests_in(_parsed(path).body)
    return len(classes) == 1 and test in _tests_of_class(root, path, classes[0])


@functools.cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _tests_in(body: list[ast.stmt]) -> set[str]:
    return {
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def _tests_of_class(root: Path, file: Path, name: str) -> set[str]:
    """Return its tests and those that it inherits, from this file or from those it imports."""
    tree = _parsed(file)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            inherited = (_tests_of_class(root, file, base) for base in bases)
            return _tests_in(node.body).union(*inherited)
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            module = root / f"{(node.module or '').replace('.', '/')}.py"
            return _tests_of_class(root, module, name) if module.is_file() else set()
    return set()


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_ROOT)))
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    assert _problems(page) == []


@pytest.mark.parametrize(
    "name",
    [
        "tests/test_a.py::test_of_a",
        "tests/test_a.py::test_of_a[sqlite]",
        "tests/test_a.py::TestA::test_of_a_class",
        "tests/test_a.py::TestB::test_of_a_contract",
        "tests/test_a.py::TestB::test_of_b",
        "pragmatic_ddd/testing/a.py::AContract::test_of_a_contract",
    ],
)
def test_a_test_that_exists_is_found(name: str, tmp_path: Path) -> None:
    assert _problems(_a_page(tmp_path, name), tmp_path) == []


@pytest.mark.parametrize(
    "name",
    [
        "tests/test_a.py::test_of_b",
        "tests/test_a.py::TestA::test_of_a_contract",
        "tests/test_a.py::TestC::test_of_a",
        "tests/test_a.py::test_of",
        "tests/test_a.py::helper",
        "tests/test_a.py::TestA",
        "tests/test_a.py::TestA::test_of_a",
        "tests/test_a.py::test_of_a_class",
        "tests/test_a.py::TestB::test_of_a_class",
        "tests/test_b.py::test_of_a",
        "tests/test_a::test_of_a",
        "tests/::test_of_a",
        "pragmatic_ddd/testing/a.py::test_of_a_contract",
    ],
)
def test_a_misspelt_test_is_named_with_its_page_and_line(name: str, tmp_path: Path) -> None:
    page = _a_page(tmp_path, name)

    assert _problems(page, tmp_path) == [f"docs/page.md:3: there is no {name}"]


def _a_page(root: Path, name: str) -> Path:
    for file, text in {
        "tests/test_a.py": (
            "def helper(): ...\n"
            "def test_of_a(): ...\n"
            "class TestA:\n    def test_of_a_class(self): ...\n"
            "from pragmatic_ddd.testing.a import AContract\n"
            "class Bound(AContract): ...\n"
            "class TestB(Bound):\n    def test_of_b(self): ...\n"
        ),
        "pragmatic_ddd/testing/a.py": ("class AContract:\n    def test_of_a_contract(self): ...\n"),
        "docs/page.md": f"# Page\n\n| row | `{name}`, and more |\n",
    }.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    return root / "docs/page.md"
