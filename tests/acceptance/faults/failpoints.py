"""Failpoints: named places at which a process can be told to end, or to stand still."""

import os
import threading
from signal import SIGKILL, Signals
from typing import Self

import attrs


@attrs.frozen(kw_only=True)
class Trap:
    """What is to happen.

    Attributes:
        point: Name of the failpoint.
        nth: At which passage, from 1.
        signal: ``SIGKILL`` or ``SIGSTOP``; sent by the process to itself.
    """

    point: str
    nth: int = 1
    signal: Signals = SIGKILL


@attrs.define(eq=False)
class Failpoints:
    """Springs the trap of this process, if it has one. Thread-safe."""

    trap: Trap | None = None
    _passages: int = attrs.field(default=0, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)

    @classmethod
    def none(cls) -> Self:
        return cls()

    def fire(self, point: str) -> None:
        """Pass a failpoint; a SIGKILL does not return, a SIGSTOP does, after a SIGCONT."""
        if self.trap is None or point != self.trap.point:
            return
        with self._lock:
            self._passages += 1
            is_sprung = self._passages == self.trap.nth
        if is_sprung:
            os.kill(os.getpid(), self.trap.signal)
