"""What goes wrong with a service, said in one line for the person who started it."""

from pathlib import Path


class ServiceError(Exception):
    """A service could not be installed, started or stopped.

    Attributes:
        log: Where more is to be read, or None when the text says all.
    """

    def __init__(self, text: str, log: Path | None = None) -> None:
        super().__init__(text, log)
        self.text = text
        self.log = log

    def __str__(self) -> str:
        return self.text if self.log is None else f"{self.text}; see {self.log}"
