"""Commits of a connection that leave out the session which has written on it.

    session.flush() ──▶ connection.commit() ──▶ the change would be there, its events would not

So it goes where a session is bound to a connection, and closed, or forgotten, without a commit;
such a commit is refused. What is rolled back in the end needs no commit of its session.
"""

import functools
from weakref import WeakKeyDictionary, WeakSet, ref

import attrs
import sqlalchemy as sa

from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd_sqlalchemy.frame_stack import FrameStack
from pragmatic_ddd_sqlalchemy.session_frames import Debt


@attrs.frozen
class _Guard:
    """Who has written in which transaction. Weak: a forgotten session holds no connection.

    Attributes:
        stacks: The transactions of sessions in each transaction of a connection, by their debt,
            which is all that is left of a forgotten one.
        spoilt: Transactions in which a session that has ended left changes without their events.
    """

    stacks: "WeakKeyDictionary[sa.RootTransaction, dict[Debt, ref[FrameStack]]]" = attrs.field(
        factory=WeakKeyDictionary
    )
    spoilt: "WeakSet[sa.RootTransaction]" = attrs.field(factory=WeakSet)

    def check(self, connection: sa.Connection) -> None:
        transaction = connection.get_transaction()
        if transaction is None:
            return
        stacks = self.stacks.get(transaction, {})
        if transaction in self.spoilt or any(_is_owed(*each) for each in stacks.items()):
            # SQLAlchemy takes a commit that fails for one that has ended the transaction.
            connection.dialect.do_rollback(connection.connection)
            raise UnitOfWorkError(
                "the connection's transaction holds changes of a session whose events are not "
                "stored, and is rolled back: commit the session, or roll it back, before the "
                "connection"
            )


@functools.cache
def _guard() -> _Guard:
    guard = _Guard()
    sa.event.listen(sa.Engine, "commit", guard.check)
    return guard


def notice_connection(stack: FrameStack, connection: sa.Connection) -> None:
    """Note that a session's transaction has taken up a connection."""
    root = connection.get_transaction()
    if root is None or root in stack.shares:
        return
    # Its own savepoint, where it has made one, or whatever else ends when it is rolled back.
    stack.shares[root] = connection.get_nested_transaction() or root
    _guard().stacks.setdefault(root, {})[stack.debt] = ref(stack)


def notice_end(stack: FrameStack) -> None:
    """Note that a session's transaction has ended; what it leaves open must not be committed."""
    guard = _guard()
    is_spoiling = not stack.is_committed and stack.is_unstored
    for root, share in stack.shares.items():
        if root in guard.stacks:
            guard.stacks[root].pop(stack.debt, None)
        if is_spoiling and share.is_active:
            guard.spoilt.add(root)


def _is_owed(debt: Debt, of: "ref[FrameStack]") -> bool:
    stack = of()
    return debt.is_open if stack is None else stack.is_unstored
