"""What processes note for the one who judges, line by line: a note outlives a SIGKILL."""

import json
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs


@attrs.frozen(kw_only=True)
class Note:
    """One note.

    Attributes:
        process: Process id of who wrote it.
        at: When, in seconds of the wall clock.
        what: ``ready``, ``claimed``, ``refused``, ``unconfirmed``, ``left_to_relay``,
            ``lost_lease``, ``error``, ``counted``.
        event_ids: The events that it is about.
        until: End of the lease of what was claimed, in seconds of the wall clock.
        text: Anything else.
    """

    process: int
    at: float
    what: str
    event_ids: Sequence[str] = ()
    until: float = 0.0
    text: str = ""


@attrs.frozen
class Diary:
    """Appends whole lines to one file, from any thread of any process."""

    path: Path

    def ready(self) -> None:
        self._write("ready")

    def claimed(self, event_ids: Iterable[str], deadline: float) -> None:
        """Note a claim; its deadline is one of ``time.monotonic()``."""
        until = time.time() + deadline - time.monotonic()
        self._write("claimed", event_ids=tuple(event_ids), until=until)

    def unconfirmed(self, event_id: str) -> None:
        self._write("unconfirmed", event_ids=(event_id,))

    def refused(self, event_id: str) -> None:
        """Note an event that the broker has not taken."""
        self._write("refused", event_ids=(event_id,))

    def left_to_relay(self, event_ids: Iterable[str]) -> None:
        """Note events for which the eager publisher had no room."""
        self._write("left_to_relay", event_ids=tuple(event_ids))

    def counted(self, **numbers: int) -> None:
        """Note what a process has counted."""
        self._write("counted", text=json.dumps(numbers))

    def lost_lease(self, count: int) -> None:
        self._write("lost_lease", text=str(count))

    def error(self, text: str) -> None:
        self._write("error", text=text)

    def counts(self, name: str) -> int:
        """Return the sum of what processes have counted under that name."""
        counted = [json.loads(note.text) for note in self.read() if note.what == "counted"]
        return sum(one.get(name, 0) for one in counted)

    def read(self) -> list[Note]:
        if not self.path.exists():
            return []
        return [Note(**json.loads(line)) for line in self.path.read_text().split("\n")[:-1]]

    def _write(
        self, what: str, *, event_ids: tuple[str, ...] = (), until: float = 0.0, text: str = ""
    ) -> None:
        note = Note(
            process=os.getpid(),
            at=time.time(),
            what=what,
            event_ids=event_ids,
            until=until,
            text=text,
        )
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, json.dumps(attrs.asdict(note)).encode() + b"\n")
        finally:
            os.close(file)
