"""Making dead letters: rows become FAILED, and what waits behind them leaves the claim's way."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy.dialects.dialect import IOutboxDialect
from pragmatic_ddd_sqlalchemy.rows import batches


def bury(
    connection: sa.Connection, dialect: IOutboxDialect, failures: Sequence[dict[str, Any]]
) -> int:
    """Mark rows FAILED, each only for the token that owns it, and park their tails.

    Args:
        connection: Its open transaction does all of it.
        dialect: The SQL.
        failures: For each row ``id``, ``claim_token``, ``error`` and ``counted``.

    Returns:
        How many rows were still their owner's.
    """
    changed = sum(
        dialect.statements.mark_failed.execute(connection, {"batch": batch}).rowcount
        for batch in batches(failures)
    )
    dialect.park_tails(connection, [failure["id"] for failure in failures])
    return changed
