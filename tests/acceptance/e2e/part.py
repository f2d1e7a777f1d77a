"""One part of the run, as its processes see it: where things are, how much there is to do."""

import json
import os
from pathlib import Path
from typing import Self

import attrs

from tests.acceptance.brokers.topics import group_of

_VARIABLE = "PRAGMATIC_DDD_E2E_PART"

TRANSACTIONS = 2_000
ORDERS = 200
PROBES = 64


@attrs.frozen(kw_only=True)
class Part:
    """Handed from process to process in the environment.

    Attributes:
        database_url: Where orders and outbox are.
        broker: What the events go over, by its name in ``tests/acceptance/brokers``.
        name: Unique; makes the names of tables, topic and consumer group.
        folder: Where the processes leave what they counted.
        transactions: How many there are to commit; five events in two of them.
    """

    database_url: str
    broker: str
    name: str
    folder: str
    transactions: int = TRANSACTIONS

    @classmethod
    def of_this_process(cls) -> Self:
        return cls(**json.loads(os.environ[_VARIABLE]))

    def environment(self) -> dict[str, str]:
        return {**os.environ, _VARIABLE: json.dumps(attrs.asdict(self))}

    @property
    def events_each(self) -> list[int]:
        """How many events each transaction has: 2, 3, 2, 3, …"""
        return [2 + number % 2 for number in range(self.transactions)]

    @property
    def events(self) -> int:
        return sum(self.events_each)

    @property
    def topic(self) -> str:
        return f"e2e-{self.name}"

    @property
    def group(self) -> str:
        return group_of(self.topic)

    @property
    def outbox_table(self) -> str:
        return f"e2e_{self.name}_outbox"

    @property
    def order_table(self) -> str:
        return f"e2e_{self.name}_order"

    @property
    def received_log(self) -> Path:
        return Path(self.folder) / "received.jsonl"

    def counts(self, process: str) -> Path:
        return Path(self.folder) / f"{process}.json"
