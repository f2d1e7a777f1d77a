"""The list of the guards, and what must be true of it."""

import tomllib
from pathlib import Path
from typing import Self

import attrs

ROOT = Path(__file__).parents[3]
LIST = Path(__file__).with_name("guards.toml")
PROMISES = tuple(f"G{number}" for number in range(1, 13))


@attrs.frozen(kw_only=True)
class Guard:
    """One line of defence.

    Attributes:
        promise: Which of ``PROMISES`` it holds.
        guard: What it does, in a few words.
        file: Where it is, from the root of the repository.
        text: Its code; occurs once in the file.
        without: What stands there when it is taken out.
        test: The test that fails then.
    """

    promise: str = attrs.field(validator=attrs.validators.in_(PROMISES))
    guard: str
    file: str
    text: str
    without: str
    test: str

    @classmethod
    def all(cls) -> list[Self]:
        return [cls(**one) for one in tomllib.loads(LIST.read_text())["guard"]]

    @property
    def row(self) -> str:
        """Its row in the README."""
        return f"| {self.promise} | {self.guard} | `{self.file}` | `{self.test}` |"

    def occurrences(self, root: Path = ROOT) -> int:
        return (root / self.file).read_text().count(self.text)

    def taken_out(self, root: Path) -> str:
        """Return the file's text without the guard.

        Raises:
            ValueError: The guard is not there once: the list is behind the code.
        """
        if self.occurrences(root) != 1:
            raise ValueError(f"{self.file} has {self.occurrences(root)} times: {self.text!r}")
        return (root / self.file).read_text().replace(self.text, self.without)
