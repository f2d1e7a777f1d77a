"""How many statements one round of the relay takes: a count that does not drift.

``statements_per_round`` counts what SQLAlchemy executes in one round of 200 rows, apart from what
opens and ends a transaction. On MariaDB, what the driver sends to the server is counted, too:
transactions, their isolation level and the pool's rollbacks are round trips there.
"""

import logging
from collections.abc import Iterable
from unittest.mock import patch

from pymysql.connections import Connection

from pragmatic_ddd.application.outbox.relay import OutboxRelay
from pragmatic_ddd.application.outbox.relay_round import RelayRound
from pragmatic_ddd.errors import EventPublishError, EventRejectedError
from pragmatic_ddd.ports import OutboxMessage, Receipt
from tests.adapters.sqlalchemy.statements import statements_of
from tests.benchmarks.databases import BenchDatabase, BenchError, bench_database
from tests.benchmarks.fill import Rows, refill
from tests.benchmarks.findings import Findings
from tests.benchmarks.publisher import NoPublisher

_BATCH = 200
_CLEAN = Rows(count=_BATCH)
# Four of each aggregate in the batch, and as many waiting behind it.
_TROUBLED = Rows(count=2 * _BATCH, aggregates=50)
_REJECTED = {"order-1"}
_REFUSED = {"order-2", "order-3"}


class TroubledPublisher(NoPublisher):
    """Rejects one aggregate's events for good, and refuses those of two others for now."""

    def publish_stored(self, message: OutboxMessage) -> Receipt:
        if message.aggregate_id in _REJECTED:
            raise EventRejectedError(message.message_id, message.event_type, "rejected")
        if message.aggregate_id in _REFUSED:
            raise EventPublishError(message.message_id, message.event_type, "refused for now")
        return super().publish_stored(message)


def run(*, quick: bool) -> Findings:
    """Count; it takes no time worth saving."""
    findings = Findings()
    with bench_database("postgresql") as database:
        findings.figure("statements_per_round.postgresql", len(of_clean_round(database)))
        findings.figure("statements_per_round.with_failures", len(of_troubled_round(database)))
    for kind in ("mariadb", "sqlite"):
        with bench_database(kind) as database:
            clean, troubled = of_clean_round(database), of_troubled_round(database)
            findings.figure(f"statements_per_round.{kind}", len(clean))
            findings.figure(f"statements_per_round_with_failures.{kind}", len(troubled))
            if kind == "mariadb":
                findings.figure("round_trips_per_round.mariadb", _round_trips(database))
    return findings


def of_clean_round(database: BenchDatabase) -> list[str]:
    """Return the statements of a round that sends a whole batch."""
    relay = OutboxRelay(store=database.store(), publisher=NoPublisher())
    refill(database, _CLEAN)
    relay.run_once()  # the first one has more to say to a server
    refill(database, _CLEAN)
    with statements_of(database.engine) as statements:
        _check(relay.run_once(), sent=_BATCH, failed=0, dead=0)
    return without_opening(statements)


def of_troubled_round(database: BenchDatabase) -> list[str]:
    """Return those of a round with failures, a dead letter, and rows parked and given back."""
    relay = OutboxRelay(store=database.store(), publisher=TroubledPublisher())
    refill(database, _TROUBLED)
    database.store().backlog()  # the first one has more to say to a server
    logging.disable()  # of what fails here a person is to hear nothing
    try:
        with statements_of(database.engine) as statements:
            _check(relay.run_once(), sent=_BATCH - 12, failed=2, dead=1)
    finally:
        logging.disable(logging.NOTSET)
    return without_opening(statements)


def without_opening(statements: Iterable[str]) -> list[str]:
    """Leave out what opens a transaction: BEGIN on SQLite, its isolation level on MariaDB."""
    return [one for one in statements if not one.startswith(("BEGIN", "SET TRANSACTION"))]


def _check(done: RelayRound, *, sent: int, failed: int, dead: int) -> None:
    if (done.sent, done.failed, done.dead) != (sent, failed, dead):
        raise BenchError(
            f"the round was to send {sent}, with {failed} failed and {dead} dead: {done}"
        )


def _round_trips(database: BenchDatabase) -> int:
    """Return what PyMySQL sends in a clean round, COMMIT and ROLLBACK included."""
    relay = OutboxRelay(store=database.store(), publisher=NoPublisher())
    refill(database, _CLEAN)
    relay.run_once()
    refill(database, _CLEAN)
    with patch.object(
        Connection,
        "_execute_command",
        autospec=True,
        side_effect=Connection._execute_command,  # type: ignore[attr-defined]  # not in the stubs
    ) as sent:
        _check(relay.run_once(), sent=_BATCH, failed=0, dead=0)
    return sent.call_count
