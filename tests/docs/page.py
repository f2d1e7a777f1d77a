"""A page of the documentation, and how its code is run: `python -m tests.docs.page PAGE`.

The Python blocks of a page are one program, run from top to bottom. A `text` block right after a
Python block is what that prints; `...` in it stands for anything. A block after the comment
`<!-- needs: rocketmq -->` is run where that service is there, one after `<!-- not run -->` never.
"""

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from types import ModuleType

import attrs

_FENCE = re.compile(r"^```(?P<kind>\S*)[^\n]*\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!-- (needs: (?P<service>[\w-]+)|not run) -->\s*$")


@attrs.frozen
class Block:
    """A block of Python.

    Attributes:
        line: Where its first line stands in the page, from 1.
        source: The code.
        is_run: Whether it is run at all.
        is_hidden: Whether it stands in a comment, so that readers do not see it.
        service: What it needs to run, if anything.
        prints: What it must print, if the page says so.
    """

    line: int
    source: str
    is_run: bool
    is_hidden: bool
    service: str | None
    prints: str | None


def python_blocks(page: Path) -> list[Block]:
    """Return the Python blocks of a page, in order."""
    return list(_blocks(page.read_text(encoding="utf-8")))


def _blocks(text: str) -> Iterator[Block]:
    fences = list(_FENCE.finditer(text))
    for fence, following in zip_longest(fences, fences[1:]):
        if fence["kind"] != "python":
            continue
        comment = _COMMENT.search(text, 0, fence.start())
        output = None
        if following is not None and following["kind"] == "text":
            between = text[fence.end() : following.start()]
            output = following["body"] if not between.strip() else None
        yield Block(
            line=text.count("\n", 0, fence.start("body")) + 1,
            source=fence["body"],
            is_run=comment is None or comment["service"] is not None,
            is_hidden=text.rfind("<!--", 0, fence.start()) > text.rfind("-->", 0, fence.start()),
            service=None if comment is None else comment["service"],
            prints=output,
        )


def program(page: Path) -> str:
    """Return the blocks of a page that are run, as one program with the page's line numbers."""
    source = ""
    for block in python_blocks(page):
        if block.is_run:
            source += "\n" * (block.line - 1 - source.count("\n")) + block.source
    return source


def run(page: Path, services: frozenset[str]) -> None:
    """Run a page.

    Raises:
        AssertionError: A block printed something else than the page says.
    """
    module = sys.modules["page"] = ModuleType("page")  # type hints are looked up in it
    for block in python_blocks(page):
        if block.is_run and (block.service is None or block.service in services):
            _run(block, page, module.__dict__)


def _run(block: Block, page: Path, names: dict[str, object]) -> None:
    padded = "\n" * (block.line - 1) + block.source  # so that a traceback names the page's line
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed) if block.prints else contextlib.nullcontext():
        exec(compile(padded, str(page), "exec", dont_inherit=True), names)
    if block.prints is not None and not _fits(printed.getvalue(), block.prints):
        raise AssertionError(
            f"{page}, line {block.line}: printed\n{printed.getvalue()}\ninstead of\n{block.prints}"
        )


def _fits(printed: str, expected: str) -> bool:
    pattern = ".*?".join(re.escape(part) for part in expected.strip().split("..."))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


if __name__ == "__main__":
    run(Path(sys.argv[1]), frozenset(sys.argv[2:]))
