"""One unit of work over a SQLAlchemy session.

It brings what a plain session with the outbox attached does to code that should not know
SQLAlchemy, and must not see its errors.
"""

import copy
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

import attrs
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session, attributes

from pragmatic_ddd.application.arguments import check_class, check_type, shown
from pragmatic_ddd.application.registered_work import RegisteredWork, Registration
from pragmatic_ddd.domain import AggregateRoot, IRuleValidator
from pragmatic_ddd.errors import AggregateNotFoundError, UnitOfWorkError
from pragmatic_ddd.ports import DryRunResult, IRepository
from pragmatic_ddd_sqlalchemy.deletion import delete
from pragmatic_ddd_sqlalchemy.errors import lost_races_told, translated
from pragmatic_ddd_sqlalchemy.outbox_session import NOT_ATTACHED, OutboxSession
from pragmatic_ddd_sqlalchemy.repository import Repository
from pragmatic_ddd_sqlalchemy.session_work import SessionWork

AggregateT = TypeVar("AggregateT", bound=AggregateRoot)


@attrs.define(eq=False)
class SqlAlchemyUnitOfWork:
    """One transaction of one session, which it closes at its end.

    Attributes:
        session: For queries and repositories of yours; leave ``commit`` to the unit of work.

    Raises:
        TypeError: It is no session.
        UnitOfWorkError: No outbox is attached to the session's sessionmaker.
    """

    session: Session
    _registered: RegisteredWork = attrs.field(factory=RegisteredWork, init=False)
    _to_remove: list[AggregateRoot] = attrs.field(factory=list, init=False)
    _work: SessionWork = attrs.field(init=False, repr=False)
    _is_ending: bool = attrs.field(default=False, init=False)
    _has_ended: bool = attrs.field(default=False, init=False)
    _left_behind: object = attrs.field(default=None, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.session, OutboxSession):
            check_type("session", self.session, Session)
            raise UnitOfWorkError(NOT_ATTACHED)
        self._work = self.session.outbox_work

    def get(self, aggregate_type: type[AggregateT], aggregate_id: object) -> AggregateT:
        self._check_open()
        check_class("aggregate_type", aggregate_type, AggregateRoot)
        try:
            found = self.session.get(aggregate_type, aggregate_id)
        except Exception:
            _check_mapped("aggregate_type", aggregate_type)
            with translated(), lost_races_told():
                raise
        if found is None:
            raise AggregateNotFoundError(aggregate_type.aggregate_name, aggregate_id)
        return found

    def add(self, aggregate: AggregateRoot) -> None:
        self._check_open()
        check_type("aggregate", aggregate, AggregateRoot)
        _check_mapped("aggregate", type(aggregate))
        with translated(), lost_races_told():
            self.session.add(aggregate)

    def remove(self, aggregate: AggregateRoot) -> None:
        self._check_open()
        check_type("aggregate", aggregate, AggregateRoot)
        _check_mapped("aggregate", type(aggregate))
        if attributes.instance_state(aggregate).key is None:
            raise UnitOfWorkError(f"{shown(aggregate.id)} is new: there is nothing to remove")
        self._to_remove.append(aggregate)

    def register(
        self,
        aggregate: AggregateT,
        *,
        rule: IRuleValidator[AggregateT] | None = None,
        repository: IRepository[AggregateT] | None = None,
        logic: Callable[[AggregateT], object] | None = None,
    ) -> None:
        self._check_not_ending()
        registration = Registration(
            aggregate=aggregate, rule=rule, repository=repository, logic=logic
        )
        _check_mapped("aggregate", type(aggregate))
        if isinstance(repository, Repository) and repository.session is not self.session:
            raise UnitOfWorkError(_OTHER_SESSION)
        self._registered.register(registration)

    def try_commit(self) -> DryRunResult:
        """Run logic and rules, and roll back.

        What the session has loaded is itself changed, so that it can load what it has not loaded
        yet, and undone by the rollback, but for attributes that are not mapped. What is new would
        keep its changes: a copy takes them, which refers to the loaded aggregates themselves.
        """
        self._begin_to_end()
        # One for all: what is registered twice is one. Loaded aggregates stand for themselves.
        copies: dict[int, Any] = {id(one): one for one in self._loaded_aggregates()}
        try:
            return self._registered.try_run(lambda one: copy.deepcopy(one, copies))
        except SQLAlchemyError:
            with translated(), lost_races_told():
                raise
        finally:
            self.rollback()

    def commit(self) -> None:
        self._begin_to_end()
        work = self._work
        work.hold()
        try:
            if self._registered or self._to_remove:  # most units of work have neither
                self._save_registered()
            self.session.commit()
        except BaseException:
            self.rollback()
            with translated(), lost_races_told():
                raise
        finally:
            # Freeing it takes longer than announcing its events, and until this thread waits for
            # something, no other one sends them.
            self._left_behind = work.let_go()
        self._has_ended = True

    def rollback(self) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        try:
            self.session.rollback()
        except SQLAlchemyError:
            # The connection is lost, and the server rolls back by itself: never pool it again.
            self.session.invalidate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.rollback()
        self.session.close()
        self._left_behind = None

    def _save_registered(self) -> None:
        self._registered.run()
        self._check_open()  # logic might have rolled back
        for aggregate in self._to_remove:
            delete(self.session, aggregate)
        for aggregate, repository in self._registered.to_save():
            if self._is_removed(aggregate):
                continue  # to save it would be to keep it
            if repository is not None:
                repository.save(aggregate)
            else:
                aggregate.trigger_data_sync_hook()
                self.session.add(aggregate)

    def _loaded_aggregates(self) -> Iterator[AggregateRoot]:
        """Iterate over the aggregates to which a rollback gives the state that is stored."""
        stack = self._work.stack
        for one in self.session.identity_map.values():
            if isinstance(one, AggregateRoot):
                state = attributes.instance_state(one)
                if stack is None or not stack.has_inserted(state):
                    yield one

    def _is_removed(self, aggregate: AggregateRoot) -> bool:
        return attributes.instance_state(aggregate).deleted or aggregate in self.session.deleted

    def _begin_to_end(self) -> None:
        if self._has_ended or self._is_ending:
            self._check_not_ending()
        self._is_ending = True

    def _check_not_ending(self) -> None:
        self._check_open()
        if self._is_ending:
            raise UnitOfWorkError(
                "this unit of work is ending: its logic and rules can neither register nor commit"
            )

    def _check_open(self) -> None:
        if self._has_ended:
            raise UnitOfWorkError("this unit of work has ended: make a new one for the next change")


def _check_mapped(name: str, aggregate_type: type) -> None:
    check_class(name, aggregate_type, AggregateRoot)
    if sa.inspect(aggregate_type, raiseerr=False) is None:
        raise TypeError(f"{name}: {shown(aggregate_type)} is not mapped")


_OTHER_SESSION = (
    "the repository writes in another session, which this unit of work does not commit: make it "
    "with work.session, or leave it out"
)
