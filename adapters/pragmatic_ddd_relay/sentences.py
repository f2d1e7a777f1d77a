"""How an error, or what is known of one, is told in one line."""

from pragmatic_ddd.errors import PragmaticError

_LONGEST = 1000


def sentence(error: BaseException) -> str:
    """Return what the error says, on one line that is not too long to be read.

    Errors of the framework speak for themselves; before others stands their class.
    """
    name, text = type(error).__name__, str(error)
    if not isinstance(error, PragmaticError):
        text = f"{name}: {text}"
    return one_line(text) or name


def one_line(text: str) -> str:
    """Return a text on one line that is not too long to be read."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
