"""The broker's process. One JSON object a line, in both directions.

    {"do": "publish", "topic": …, "copy": {…}, "trouble": ""}   {"receipt": …} or {"error": …}
    {"do": "conduct", "topic": …, "conduct": {…}}               {}
    {"do": "follow", "topic": …}                                every copy so far, then as they come

A copy is in the journal before it is confirmed, and a journal outlives the process.
"""

import argparse
import asyncio
import json
import os
import random
import time
from pathlib import Path
from typing import Any

import attrs

_ALWAYS = " always"


@attrs.frozen(kw_only=True)
class Conduct:
    """How the broker treats what comes for a topic.

    Attributes:
        refuse_share: Share of the messages that are refused for now, and not taken.
        lose_share: Share of the messages that are taken, and never confirmed: the connection ends.
        silent: Whether messages are taken and neither confirmed nor refused.
        delay_seconds: How long a confirmation takes.
        seed: Of the two shares.
    """

    refuse_share: float = 0.0
    lose_share: float = 0.0
    silent: bool = False
    delay_seconds: float = 0.0
    seed: int = 0


@attrs.define(eq=False)
class Topic:
    """A journal, and whoever waits for its next line."""

    journal: Path
    conduct: Conduct = attrs.field(factory=Conduct)
    _random: random.Random = attrs.field(factory=lambda: random.Random(0), init=False)
    _file: int = attrs.field(init=False)
    _count: int = attrs.field(init=False)
    _refused: set[str] = attrs.field(factory=set, init=False)
    _grown: asyncio.Condition = attrs.field(factory=asyncio.Condition, init=False)

    def __attrs_post_init__(self) -> None:
        self._file = os.open(self.journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._count = self.journal.read_bytes().count(b"\n")

    def behave(self, conduct: Conduct) -> None:
        self.conduct = conduct
        self._random = random.Random(conduct.seed)

    def verdict(self, event_id: str, trouble: str) -> dict[str, str] | None:
        """Say why a message is not taken, if it is not."""
        is_due = trouble and (trouble.endswith(_ALWAYS) or event_id not in self._refused)
        if is_due or self._random.random() < self.conduct.refuse_share:
            self._refused.add(event_id)
            return {"error": trouble.removesuffix(_ALWAYS) or "refused", "reason": "told to"}
        return None

    async def take(self, copy: dict[str, object]) -> str:
        """Write a copy down, and return its receipt."""
        copy["at"] = time.time()
        os.write(self._file, json.dumps(copy).encode() + b"\n")
        self._count += 1
        async with self._grown:
            self._grown.notify_all()
        return f"{self.journal.stem}@{self._count}"

    def is_lost(self) -> bool:
        return self._random.random() < self.conduct.lose_share

    async def follow(self, writer: asyncio.StreamWriter) -> None:
        with self.journal.open("rb") as lines:
            while True:
                writer.write(lines.read())
                await writer.drain()
                async with self._grown:
                    await self._grown.wait()


@attrs.define(eq=False)
class Broker:
    """Serves every topic whose journal is in the folder."""

    folder: Path
    _topics: dict[str, Topic] = attrs.field(factory=dict, init=False)
    _never: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)

    async def serve(self, port: int) -> None:
        server = await asyncio.start_server(self._converse, "127.0.0.1", port, backlog=500)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                answer = await self._answer(json.loads(line), writer)
                if answer is None:
                    break
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except ConnectionError:
            pass  # the other side was killed: that is what this broker is for
        finally:
            writer.close()

    async def _answer(
        self, asked: dict[str, Any], writer: asyncio.StreamWriter
    ) -> dict[str, str] | None:
        topic = self._topic(asked["topic"])
        if asked["do"] == "conduct":
            topic.behave(Conduct(**asked["conduct"]))
            return {}
        if asked["do"] == "follow":
            await topic.follow(writer)
            return None
        refusal = topic.verdict(asked["copy"]["event_id"], asked["trouble"])
        if refusal is not None:
            return None if refusal["error"] == "drop" else refusal
        receipt = await topic.take(asked["copy"])
        if topic.conduct.delay_seconds:
            await asyncio.sleep(topic.conduct.delay_seconds)
        if topic.conduct.silent:
            await self._never.wait()  # the client's patience ends first
        return None if topic.is_lost() else {"receipt": receipt}

    def _topic(self, name: str) -> Topic:
        if name not in self._topics:
            self._topics[name] = Topic(self.folder / f"{name}.jsonl")
        return self._topics[name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    asyncio.run(Broker(arguments.folder).serve(arguments.port))


if __name__ == "__main__":
    main()
