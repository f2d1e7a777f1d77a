"""The restart part of the run."""

from pathlib import Path
from typing import Any

from tests.acceptance.faults.restart.database import Absence, restarted
from tests.acceptance.faults.restart.own_service import OwnService
from tests.acceptance.faults.restart.rocketmq import broker_restarted

_DATABASES = ("postgresql", "mariadb")
_QUICK = (
    Absence(kill=True, away_seconds=0.0),
    Absence(kill=True, away_seconds=3.0),
    Absence(kill=False, away_seconds=1.0),
)
_FULL = (
    *_QUICK,
    Absence(kill=True, away_seconds=20.0),
    *_QUICK,
)


def run(*, quick: bool, folder: Path, broker_port: int) -> dict[str, Any]:
    """Kill and start databases and a RocketMQ broker under load; count what became of the events.

    - ``postgresql``, ``mariadb``: two writers, one with the eager path on, and a relay, as
      processes that are never started again. The database is killed twice, once for longer than
      a lease, and stopped once in an orderly way; PostgreSQL then comes back read-only for a
      while. The writers try again what may be tried again; the account tells them whether a
      commit whose connection was lost has happened.
    - ``rocketmq``: the end-to-end run on PostgreSQL, shorter when quick, while its broker is
      killed and started.

    Takes a minute and a half when quick and four minutes otherwise, on two cores that do nothing
    else. The servers of this checkout run again when it ends, however it ends.

    Args:
        quick: Whether each kind of absence is to happen once only.
        folder: For logs and figures; that of the broker's journals.
        broker_port: Of the broker for the databases' runs, on 127.0.0.1.

    Returns:
        By server ``lost``, ``overtaken``, ``duplicates_outside_window``, what else was counted,
        and ``problems``, which is empty if every bound but that of the recovery was kept.

    Raises:
        ServiceError: A server is not one that this checkout has started: it may not be killed.
    """
    for name in (*_DATABASES, "rocketmq-namesrv", "rocketmq-broker"):
        OwnService.of(name)
    absences = _QUICK if quick else _FULL
    figures = {
        database: dict(restarted(database, absences, folder=folder, broker_port=broker_port))
        for database in _DATABASES
    }
    return {**figures, "rocketmq": dict(broker_restarted(quick=quick))}
