"""A backlog as a contender: put into a table that holds other things, worked off, and timed."""

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import attrs

from tests.benchmarks.databases import BenchDatabase
from tests.benchmarks.fill import Rows, fill

_WARM_UP = 1_000


@attrs.frozen(kw_only=True)
class Backlog:
    """Rows of aggregates that may have others in the table already. Call it for its rate.

    Attributes:
        database: Where.
        count: How many rows.
        work: Sends so many rows, and returns how many seconds that has taken.
        begin: What is done with the rows of the last round.
        put: Puts rows into the table.
        aggregates: Over how many aggregates the rows go round; ``None``: each has its own.
        beside: What is open while they are sent.
        left: How many rows of the table are not to be sent.
    """

    database: BenchDatabase
    count: int
    work: Callable[[int], float]
    begin: Callable[[], None]
    put: Callable[[BenchDatabase, Rows], None] = fill
    aggregates: int | None = None
    beside: Callable[[], AbstractContextManager[object]] = nullcontext
    left: int = 0

    def __call__(self) -> float:
        self.begin()
        prefix = secrets.token_hex(4)
        rows = Rows(count=self.count, aggregates=self.aggregates, prefix=prefix, of="order")
        self.put(self.database, rows)
        with self.beside():
            rate = self.count / self.work(self.count)
        self.database.check_all_sent(but=self.left)
        return rate

    def warmed_up(self) -> "Backlog":
        """Return it after a first small round, which opens connections and compiles."""
        attrs.evolve(self, count=_WARM_UP)()
        return self
