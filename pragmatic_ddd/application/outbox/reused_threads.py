"""Threads that stay for the next task, as long as their user runs.

    start ──▶ one that is idle, or a new one ──▶ idle ──▶ … ──end──▶ gone

To start a thread means to wait until it runs: behind every other one that wants the interpreter.
With seven of them a batch, that was a sixth of the time that a batch took. See ADR 0023.
"""

import threading
from collections import deque
from queue import SimpleQueue

import attrs

from pragmatic_ddd.application.outbox.task import Task
from pragmatic_ddd.application.outbox.threads import start_thread


@attrs.define(eq=False)
class ReusedThreads:
    """As many threads as there ever were tasks at once. For one thread that begins tasks.

    There is no lock that Ctrl-C might leave behind: each idle thread has left a token, and who
    takes one owes one task, or ``None``, to the queue at which the idle ones wait.
    """

    _tasks: "SimpleQueue[Task | None]" = attrs.field(factory=SimpleQueue, init=False)
    _idle: deque[None] = attrs.field(factory=deque, init=False)
    _is_ending: bool = attrs.field(default=False, init=False)

    def start(self, task: Task) -> None:
        """Have a task done.

        Raises:
            RuntimeError: There are no more threads to be had.
        """
        self._is_ending = False
        if self._takes_a_token():
            self._tasks.put(task)
        else:
            start_thread(task.name, lambda: self._work(task))

    def end(self) -> None:
        """Let the idle threads end, and the others after their task; there may be new ones."""
        self._is_ending = True
        while self._takes_a_token():
            self._tasks.put(None)

    def _work(self, first: Task) -> None:
        task: Task | None = first
        while task is not None:
            threading.current_thread().name = task.name
            task.run(before_end=lambda: self._idle.append(None))
            del task  # what it has done is nobody's any more
            task = self._next()

    def _next(self) -> Task | None:
        if self._is_ending and self._takes_a_token():
            return None
        return self._tasks.get()

    def _takes_a_token(self) -> bool:
        try:
            self._idle.pop()
        except IndexError:
            return False
        return True
