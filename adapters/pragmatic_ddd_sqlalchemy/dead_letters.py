"""Making dead letters: rows become FAILED, and what waits behind them leaves the claim's way."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy.dialects.statements import Statements
from pragmatic_ddd_sqlalchemy.rows import as_json, batches


def bury(
    connection: sa.Connection,
    statements: Statements[sa.TextClause],
    failures: Sequence[dict[str, Any]],
) -> int:
    """Mark rows FAILED, each only for the token that owns it, and park their tails.

    Args:
        connection: Its open transaction does all of it.
        statements: The SQL.
        failures: For each row ``id``, ``claim_token``, ``error`` and ``counted``.

    Returns:
        How many rows were still their owner's.
    """
    changed = sum(
        connection.execute(statements.mark_failed, {"batch": batch}).rowcount
        for batch in batches(failures)
    )
    ids = as_json([failure["id"] for failure in failures])
    tail = connection.execute(statements.lock_tail, {"batch": ids}).scalars().all()
    if tail:
        connection.execute(statements.park, {"batch": as_json(sorted(tail))})
    return changed
