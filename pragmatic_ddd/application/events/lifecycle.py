"""The life of an event manager: made, started, shut down; once, and in one process."""

import enum
import os
import threading

import attrs

from pragmatic_ddd.errors import InfrastructureError


class _Stage(enum.Enum):
    MADE = "has not been started: call start()"
    STARTED = "started"
    SHUT_DOWN = "has been shut down"


@attrs.define
class Lifecycle:
    """Where an event manager is in its life. Safe to use from several threads.

    Attributes:
        owner: Name of the event manager, for errors.
    """

    owner: str
    _stage: _Stage = attrs.field(default=_Stage.MADE, init=False)
    _process_id: int = attrs.field(default=0, init=False)
    # Reentrant: a signal handler may end it while the main thread is just starting it.
    _lock: "threading.RLock" = attrs.field(factory=threading.RLock, init=False, repr=False)

    def start(self) -> bool:
        """Begin to work; tells whether this call did so, or an earlier one.

        Raises:
            InfrastructureError: It has been shut down.
        """
        with self._lock:
            if self._stage is _Stage.SHUT_DOWN:
                raise InfrastructureError(
                    f"{self.owner} cannot start: it {self._stage.value}; make a new one"
                )
            if self._stage is _Stage.STARTED:
                return False
            self._stage = _Stage.STARTED
            self._process_id = os.getpid()
            return True

    def shut_down(self) -> bool:
        """End; tells whether there is anything to let go of, in this process."""
        if self._process_id not in (0, os.getpid()):
            return False  # in a forked child, where the lock may have been held by the parent
        with self._lock:
            was_started = self._stage is _Stage.STARTED
            self._stage = _Stage.SHUT_DOWN
            return was_started

    def obstacle(self) -> str | None:
        """Return why it does not work, by its name; ``None`` while it does."""
        if self._stage is not _Stage.STARTED:
            return f"{self.owner} {self._stage.value}"
        if self._process_id != os.getpid():
            return (
                f"{self.owner} was started before this process was forked: make and start one here"
            )
        return None
