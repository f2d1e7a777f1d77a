"""What the outbox asks of SQL, whatever the database.

The text of a statement does not depend on how many rows it is about: a batch is one parameter,
``:batch``, in JSON. Statements named ``lock_…`` pass over rows that somebody else has locked.
"""

from collections.abc import Mapping
from typing import Generic, TypeVar

import attrs
import sqlalchemy as sa

from pragmatic_ddd_sqlalchemy.dialects.sql import Sql
from pragmatic_ddd_sqlalchemy.rows import CLAIMED_COLUMNS, ENTRY_COLUMNS
from pragmatic_ddd_sqlalchemy.table import index_name

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Statements(Generic[T]):
    """The statements whose use is the same on every database.

    Attributes:
        lock_due: The first due rows without an older hindered one, as ``LockedRow``. Takes
            ``limit``, and ``confirmed``, the token of rows that count as SENT.
        lock_ids: Rows by id that nobody owns and that have not failed.
        unclaimed: The same ids, whether or not somebody has locked them.
        lock_stragglers: Unowned rows that are due later than a younger one of their aggregate;
            ``due_at`` is the time of that one. Takes ``limit``.
        move_due: Sets ``due_at``.
        mark_sent: Fenced. A row that is SENT by the same token already keeps what it has.
        release: Fenced.
        retry_later: Fenced. Takes ``horizon``.
        mark_failed: Fenced.
        lock_newcomers: Among the first ``limit`` due rows, those that wait behind a FAILED one,
            each with its aggregate.
        lock_heads: FAILED rows of aggregates, with these, kept from being replayed or skipped.
        park: Moves the due time of rows by id.
        lock_strays: Rows due later than ``horizon`` from now: the clock has stepped back.
        lock_ahead: Among the first ``limit`` rows yet to be due, those that were stored, or given
            to their owner, later than now: the clock has stepped back by less.
        bring_back: Makes strays due at once; those with an owner after their lease.
        next_due: Seconds until the next row that is not yet due.
        backlog: Counts, and the age of the oldest row in seconds.
        list_failed: Takes ``after_id`` and ``limit``.
        find: Takes ``message_id``.
        lock_dead: FAILED rows by message id; with ``also_skipped`` those in SKIPPED, too.
        replay: Rows by id.
        skip: Rows by id. Takes ``note``.
        lock_parked: Rows of aggregates that nobody owns and that are not yet due.
        find_parked: One of these, whether or not somebody has locked it.
        wake: Makes rows by id due.
        lock_ended: Rows that ended ``older_than`` seconds ago. Takes ``limit``.
        delete: Rows by id.
    """

    lock_due: T
    lock_ids: T
    unclaimed: T
    lock_stragglers: T
    move_due: T
    mark_sent: T
    release: T
    retry_later: T
    mark_failed: T
    lock_newcomers: T
    lock_heads: T
    park: T
    lock_strays: T
    lock_ahead: T
    bring_back: T
    next_due: T
    backlog: T
    list_failed: T
    find: T
    lock_dead: T
    replay: T
    skip: T
    lock_parked: T
    find_parked: T
    wake: T
    lock_ended: T
    delete: T


def names_of(table: sa.Table, dialect: sa.Dialect) -> dict[str, str]:
    """Return the table's names, quoted, by the placeholders that stand for them."""
    preparer = dialect.identifier_preparer
    names = {"outbox": preparer.format_table(table)} | {
        suffix: preparer.quote(index_name(table, suffix))
        for suffix in ("due", "unsent", "hindered", "ended", "message_id")
    }
    return {
        "claimed_columns": ", ".join(f"o.{column}" for column in CLAIMED_COLUMNS),
        "entry_columns": ", ".join(f"o.{column}" for column in ENTRY_COLUMNS),
    } | {placeholder: name.replace(":", r"\:") for placeholder, name in names.items()}


def named(text: str, names: Mapping[str, str]) -> Sql:
    """Put names and fragments in the places of their placeholders, such as ``{outbox}``."""
    for placeholder, name in names.items():
        text = text.replace("{" + placeholder + "}", name)
    return Sql(text)


def prepared(texts: Statements[str], names: Mapping[str, str]) -> Statements[Sql]:
    """Do for all statements what ``named`` does for one."""
    fields = attrs.asdict(texts)
    return Statements(**{field: named(text, names) for field, text in fields.items()})
