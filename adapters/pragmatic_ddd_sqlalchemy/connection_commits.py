"""Commits of a connection: what must not be left out, and what goes with them.

    session.flush() ──▶ connection.commit() ──▶ the change would be there, its events would not

So it goes where a session is bound to a connection, and closed, or forgotten, without a commit;
such a commit is refused. What is rolled back in the end needs no commit of its session.

    session.commit() ──▶ connection.commit() ──▶ the events' INSERT and the COMMIT, sent at once

Where the driver can do that, an event costs no round trip to the database. See ADR 0014.

Commits are met in the dialect, as the last thing before the driver. A listener to the engine's
``commit`` would meet them as well, and have SQLAlchemy ask for listeners to everything else: of
each transaction of each engine in the process, with an outbox or without, that is a twelfth.
"""

import contextlib
from collections.abc import Callable
from weakref import ref

import attrs
import sqlalchemy as sa
from sqlalchemy import PoolProxiedConnection

from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd_sqlalchemy.frame_stack import FrameStack
from pragmatic_ddd_sqlalchemy.session_frames import Debt

_KEY = "pragmatic_ddd.debts"  # in the info of a pooled connection, which outlives transactions


@attrs.frozen(eq=False)
class _Debtor:
    """A session that writes in a transaction. Weak: a forgotten session holds no connection.

    Attributes:
        root: The transaction of the connection.
        stack: That of the session.
        debt: What it owes, which is all that is left of a forgotten one.
    """

    root: "ref[sa.RootTransaction]"
    stack: "ref[FrameStack]"
    debt: Debt

    @property
    def is_over(self) -> bool:
        root = self.root()
        is_settled = self.debt.is_settled and self.root not in self.debt.left_in
        return is_settled or root is None or not root.is_active

    @property
    def owes(self) -> bool:
        if self.debt.is_settled:
            return True
        stack = self.stack()
        return self.debt.is_open if stack is None else stack.is_unstored

    def store_with_commit(self) -> None:
        stack = self.stack()
        if stack is not None:
            stack.store_with_commit()


@attrs.frozen
class _GuardedCommit:
    """The ``do_commit`` of a dialect, behind the guard."""

    dialect: sa.Dialect
    do_commit: Callable[[PoolProxiedConnection], None]

    def __call__(self, connection: PoolProxiedConnection) -> None:
        try:
            self._prepare(connection)
        except Exception:
            # SQLAlchemy takes a commit that fails for one that has ended the transaction.
            with contextlib.suppress(Exception):  # of a connection that is lost
                self.dialect.do_rollback(connection)
            raise
        self.do_commit(connection)

    def _prepare(self, connection: PoolProxiedConnection) -> None:
        debtors = [one for one in connection.info.get(_KEY, ()) if not one.is_over]
        for debtor in debtors:
            if debtor.owes:
                raise UnitOfWorkError(
                    "the connection's transaction holds changes of a session whose events are "
                    "not stored, and is rolled back: commit the session, or roll it back, before "
                    "the connection"
                )
        for debtor in debtors:
            debtor.store_with_commit()


def notice_connection(stack: FrameStack, connection: sa.Connection) -> None:
    """Note that a session's transaction has taken up a connection."""
    root = connection.get_transaction()
    if root is None or root in stack.shares:
        return
    # Its own savepoint, where it has made one, or whatever else ends when it is rolled back.
    stack.shares[root] = connection.get_nested_transaction() or root
    _guard(connection.dialect)
    debtor = _Debtor(ref(root), ref(stack), stack.debt)
    known = connection.info.get(_KEY, ())
    connection.info[_KEY] = [debtor, *(one for one in known if not one.is_over)]


def notice_end(stack: FrameStack) -> None:
    """Note that a session's transaction has ended; what it leaves open must not be committed."""
    if not stack.is_committed and stack.is_unstored:
        shares = stack.shares.items()
        stack.debt.left_in = [ref(root) for root, share in shares if share.is_active]
    stack.debt.is_settled = True


def _guard(dialect: sa.Dialect) -> None:
    """Have the commits of all engines with this dialect checked from now on; once is enough."""
    if not isinstance(dialect.do_commit, _GuardedCommit):
        guarded = _GuardedCommit(dialect, dialect.do_commit)
        dialect.do_commit = guarded  # type: ignore[method-assign,assignment]
