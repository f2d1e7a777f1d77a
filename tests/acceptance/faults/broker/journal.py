"""What the broker has written down: one line for each copy that it took."""

import json
from pathlib import Path

import attrs

from tests.acceptance.tally import Arrival


@attrs.frozen(kw_only=True)
class Copy(Arrival):
    """One copy of an event, as the broker took it.

    Attributes:
        sender: Process id of the publisher.
        at: When it was taken, in seconds of the wall clock.
    """

    sender: int
    at: float


def copies(journal: Path) -> list[Copy]:
    """Read the journal, in the order of arrival, without a last line that is not yet whole."""
    if not journal.exists():
        return []
    return [Copy(**json.loads(line)) for line in journal.read_text().split("\n")[:-1]]
