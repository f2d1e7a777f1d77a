"""The pages of the reference say what the code says."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from pragmatic_ddd import errors
from pragmatic_ddd.errors import PragmaticError

_REFERENCE = Path(__file__).parent.parent.parent / "docs" / "reference"


def _rows(page: str, columns: int) -> Iterator[list[str]]:
    """Yield the cells of the rows of the tables with that many columns, without the heads."""
    for line in (_REFERENCE / page).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == columns:
            yield cells


def _name(cell: str) -> str:
    found = re.match(r"`([^`]+)`", cell)
    return found[1] if found else ""


def test_the_page_of_errors_lists_every_error_as_it_is() -> None:
    listed = {_name(row[0]): (_name(row[1]), row[2]) for row in _rows("errors.md", 4)}

    public = [
        cls
        for name, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, PragmaticError) and not name.startswith("_")
    ]
    assert listed == {
        cls.__name__: (_public_base(cls), "yes" if cls.retryable else "no") for cls in public
    }


def _public_base(cls: type[PragmaticError]) -> str:
    bases = [base for base in cls.__mro__[1:] if issubclass(base, PragmaticError)]
    return next((base.__name__ for base in bases if not base.__name__.startswith("_")), "")
