"""A target that a page names, as in `make test`, exists, and every target is named."""

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent.parent
_PAGES = [
    _ROOT / "README.md",
    _ROOT / "CONTRIBUTING.md",
    *sorted((_ROOT / "docs").glob("**/*.md")),
    *sorted((_ROOT / "examples").glob("**/*.md")),
    *sorted((_ROOT / "tests").glob("**/README.md")),
]
_CODE = re.compile(
    r"^```(?P<kind>\S*)[^\n]*\n(?P<block>.*?)^```$|`(?P<inline>[^`]+)`", re.MULTILINE | re.DOTALL
)
_COMMAND = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*make (?P<words>[^#\n]+)", re.MULTILINE)
_TARGET = re.compile(r"^(?P<name>[a-z][a-z0-9-]*):", re.MULTILINE)


def _targets() -> set[str]:
    return set(_TARGET.findall((_ROOT / "Makefile").read_text(encoding="utf-8")))


def _named(text: str) -> set[str]:
    """Return the targets of every `make …` in code; NAME=value is no target."""
    code = "\n".join(
        found["inline"] or found["block"]
        for found in _CODE.finditer(text)
        if found["kind"] in (None, "console")
    )
    return {
        word
        for command in _COMMAND.finditer(code)
        for word in re.sub(r"""\S+=("[^"]*"|'[^']*'|\S*)""", "", command["words"]).split()
        if re.fullmatch(r"[a-z][\w-]*", word)
    }


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_ROOT)))
def test_every_target_that_a_page_names_exists(page: Path) -> None:
    assert _named(page.read_text(encoding="utf-8")) - _targets() == set()


def test_every_target_is_explained_to_who_contributes() -> None:
    page = (_ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

    assert _targets() - _named(page) - {"help", "setup"} == set()


def test_a_target_is_found_wherever_code_names_it() -> None:
    text = """
```python
make = "six"
```

Run `make one QUICK=1` or `make two PARTS="kill outage"`, and make sure of it.

```console
$ make three four        # and no more
$ SERVICES=required make five
```
"""
    assert _named(text) == {"one", "two", "three", "four", "five"}
