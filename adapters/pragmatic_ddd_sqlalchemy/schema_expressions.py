"""Whether two SQL conditions are the same, however a database has written one of them down."""

import re

_REWRITTEN = (
    (re.compile(r"::(character varying|\w+)(\[\])?"), ""),
    (re.compile(r"\b_utf8mb[34]\b|\\"), ""),
    (re.compile(r"= any\s*\(+array"), "in"),
    (re.compile(r"<> all\s*\(+array"), "not in"),
    (re.compile(r"!="), "<>"),
    (re.compile(r"""[\s()`"\[\]]"""), ""),
)


def same_expression(one: str, other: str) -> bool:
    """Compare two conditions without casts, quotes of names, parentheses and spaces."""
    return _plain(one) == _plain(other)


def _plain(expression: str) -> str:
    plain = expression.lower()
    for written, rewritten in _REWRITTEN:
        plain = written.sub(rewritten, plain)
    return plain
