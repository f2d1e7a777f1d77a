"""The broker of a run: at least once, to several processes at a time, some of which are killed.

    queue ──▶ in flight at a consumer ──done──▶ settled
      ▲                │ later: to come again, after some others
      └── its consumer is dead ──┘

What a consumer has answered before it died counts; all else that it had comes again.
"""

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import attrs

from pragmatic_ddd.application.events.wire_format import attributes_of
from pragmatic_ddd.ports import OutboxMessage
from tests.acceptance.once.ground import Part
from tests.script import ROOT, child_environment

CONSUMERS = 2
_IN_FLIGHT = 16
_LATER_BY = 30
_SILENCE_SECONDS = 60.0


@attrs.define(eq=False)
class Consumer:
    """A consuming process, and what it was given.

    Attributes:
        process: The process.
        in_flight: By tag: deliveries without an answer, in their order.
    """

    process: "subprocess.Popen[bytes]"
    in_flight: dict[int, int] = attrs.field(factory=dict, init=False)
    _half_a_line: bytes = attrs.field(default=b"", init=False)

    @property
    def output(self) -> int:
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def give(self, tag: int, index: int, message: OutboxMessage) -> None:
        assert self.process.stdin is not None
        self.in_flight[tag] = index
        line = json.dumps(
            {"tag": tag, "attributes": attributes_of(message), "body": message.payload.decode()}
        )
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def answers(self) -> list[tuple[str, int, str]] | None:
        """Return what it has answered by now; ``None``: it has ended."""
        read = os.read(self.output, 65536)
        if not read:
            return None
        *lines, self._half_a_line = (self._half_a_line + read).split(b"\n")
        words = (line.decode().split(" ", 2) for line in lines)
        return [(word, int(tag), reason) for word, tag, reason in words]


@attrs.define(eq=False)
class PlayedBroker:
    """Delivers until everything is settled.

    Attributes:
        part: What the consumers are told.
        messages: What is delivered.
        queue: Indexes of messages, in the order of delivery.
        kill_at: After so many settled deliveries a consumer is killed, each time.
        seed: Which one.
        delivered: How many deliveries were made.
        refused: How many were to come again.
        kills: How many consumers were killed with deliveries in flight.
        problems: Answers that should not be.
    """

    part: Part
    messages: Sequence[OutboxMessage]
    queue: deque[int]
    kill_at: Sequence[int]
    seed: int
    delivered: int = attrs.field(default=0, init=False)
    refused: int = attrs.field(default=0, init=False)
    kills: int = attrs.field(default=0, init=False)
    problems: list[str] = attrs.field(factory=list, init=False)
    _settled: int = attrs.field(default=0, init=False)
    _consumers: list[Consumer] = attrs.field(factory=list, init=False)

    def run(self) -> None:
        """Deliver everything.

        Raises:
            TimeoutError: Nobody has answered for a long time.
        """
        chance = random.Random(self.seed)
        kills = deque(sorted(self.kill_at))
        try:
            while self.queue or any(one.in_flight for one in self._consumers):
                while len(self._consumers) < CONSUMERS:
                    self._consumers.append(self._started())
                self._deliver()
                self._hear()
                if kills and self._settled >= kills[0]:
                    busy = [one for one in self._consumers if one.in_flight]
                    if busy:
                        kills.popleft()
                        self._kill(chance.choice(busy))
        finally:
            self._end()

    def _started(self) -> Consumer:
        log = Path(self.part.folder, "consumers.log")
        with log.open("ab") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.acceptance.once.consumer", self.part.to_text()],
                cwd=ROOT,
                env=child_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        return Consumer(process)

    def _deliver(self) -> None:
        for consumer in self._consumers:
            while self.queue and len(consumer.in_flight) < _IN_FLIGHT:
                index = self.queue.popleft()
                self.delivered += 1
                try:
                    consumer.give(self.delivered, index, self.messages[index])
                except BrokenPipeError:
                    break  # it has died: its answers end, and it is buried then

    def _hear(self) -> None:
        outputs = {one.output: one for one in self._consumers}
        ready, _, _ = select.select(list(outputs), [], [], _SILENCE_SECONDS)
        if not ready:
            raise TimeoutError(f"no answer for {_SILENCE_SECONDS:g} s; see {self.part.folder}")
        for output in ready:
            consumer = outputs[output]
            answers = consumer.answers()
            if answers is None:
                self.problems.append(f"a consumer has ended by itself: {consumer.process.wait()}")
                self._bury(consumer)
            else:
                self._settle(consumer, answers)

    def _settle(self, consumer: Consumer, answers: Sequence[tuple[str, int, str]]) -> None:
        for word, tag, reason in answers:
            index = consumer.in_flight.pop(tag)
            if word == "later":
                self.refused += 1
                self.queue.insert(min(_LATER_BY, len(self.queue)), index)
                continue
            self._settled += 1
            if word != "done":
                self.problems.append(f"{self.messages[index].message_id}: {reason}")

    def _kill(self, consumer: Consumer) -> None:
        consumer.process.send_signal(signal.SIGKILL)
        while (answers := consumer.answers()) is not None:
            self._settle(consumer, answers)
        self.kills += 1
        self._bury(consumer)

    def _bury(self, consumer: Consumer) -> None:
        self.queue.extendleft(reversed(consumer.in_flight.values()))
        consumer.in_flight.clear()
        self._consumers.remove(consumer)
        _close(consumer)

    def _end(self) -> None:
        for consumer in self._consumers:
            if consumer.in_flight:
                consumer.process.kill()
            _close(consumer)
        self._consumers.clear()


def _close(consumer: Consumer) -> None:
    """Close its pipes, at which it ends, and wait for that."""
    for pipe in (consumer.process.stdin, consumer.process.stdout):
        assert pipe is not None
        try:
            pipe.close()
        except BrokenPipeError:
            continue
    deadline = time.monotonic() + 10
    try:
        consumer.process.wait(deadline - time.monotonic())
    except subprocess.TimeoutExpired:
        consumer.process.kill()
        consumer.process.wait()
