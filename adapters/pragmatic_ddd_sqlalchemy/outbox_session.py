"""The session class behind an attached sessionmaker: it remembers which aggregates raise events."""

import functools
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeGuard, TypeVar, cast

from sqlalchemy.orm import Session, object_mapper, object_session
from sqlalchemy.orm.attributes import instance_state
from sqlalchemy.orm.interfaces import ORMOption

from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd_sqlalchemy.session_work import SessionWork

T = TypeVar("T")

NOT_ATTACHED = "no outbox is attached to this sessionmaker: call SqlAlchemyOutbox.attach() first"


class OutboxSession(Session):
    """A session with the outbox attached; ``attach`` mixes it into the session class.

    Attributes:
        outbox: What it is attached to.
    """

    outbox: ClassVar[object]

    @functools.cached_property
    def outbox_work(self) -> SessionWork:
        """What it has to do for the outbox."""
        return SessionWork()

    def expire(self, instance: object, attribute_names: Iterable[str] | None = None) -> None:
        """Expire as ever; changes that were not flushed go, and their events with them."""
        names = None if attribute_names is None else list(attribute_names)
        if isinstance(instance, AggregateRoot):
            self.outbox_work.discard(instance, names)
        super().expire(instance, names)

    def expire_all(self) -> None:
        """Expire as ever; changes that were not flushed go, and their events with them."""
        for instance in list(self.identity_map.values()):
            if isinstance(instance, AggregateRoot):
                self.outbox_work.discard(instance, None)
        super().expire_all()

    def refresh(
        self,
        instance: object,
        attribute_names: Iterable[str] | None = None,
        with_for_update: Any = None,  # noqa: ANN401  # SQLAlchemy has no public name for it
    ) -> None:
        """Refresh as ever; changes that were not flushed go, and their events with them."""
        names = None if attribute_names is None else list(attribute_names)
        if isinstance(instance, AggregateRoot):
            self.outbox_work.discard(instance, names)
        super().refresh(instance, names, with_for_update)

    def merge(
        self,
        instance: T,
        *,
        load: bool = True,
        options: Sequence[ORMOption] | None = None,
    ) -> T:
        """Merge as ever; the events of an aggregate are carried to its copy.

        Raises:
            UnitOfWorkError: They cannot be: deferred ones know only the given instance, and
                aggregates that it merely refers to must be merged by themselves.
        """
        _refuse_what_merge_would_lose(self, instance)
        merged = super().merge(instance, load=load, options=options)
        if isinstance(instance, AggregateRoot) and merged is not instance:
            self.outbox_work.carry(self, instance, cast("AggregateRoot", merged))
        return merged

    def merge_all(
        self,
        instances: Iterable[T],
        *,
        load: bool = True,
        options: Sequence[ORMOption] | None = None,
    ) -> Sequence[T]:
        """Merge each of them."""
        return [self.merge(instance, load=load, options=options) for instance in instances]

    def bulk_save_objects(
        self,
        objects: Iterable[object],
        return_defaults: bool = False,  # noqa: FBT001, FBT002  # the signature is SQLAlchemy's
        update_changed_only: bool = True,  # noqa: FBT001, FBT002  # as above
        preserve_order: bool = True,  # noqa: FBT001, FBT002  # as above
    ) -> None:
        """Save without the unit of work, which is why aggregates with events are refused.

        Raises:
            UnitOfWorkError: An aggregate has events, and would be saved without them.
        """
        saved = list(objects)
        for one in saved:
            if _has_events(one) and object_session(one) is not self:
                raise UnitOfWorkError(
                    f"bulk_save_objects() would lose the events of {_named(one)}: use add()"
                )
        super().bulk_save_objects(saved, return_defaults, update_changed_only, preserve_order)


def _refuse_what_merge_would_lose(session: Session, given: object) -> None:
    if _has_events(given) and _has_deferred_events(given):
        raise UnitOfWorkError(f"merge() cannot carry deferred events of {_named(given)}: use add()")
    mapper = object_mapper(given)
    for referred, *_ in mapper.cascade_iterator("merge", instance_state(given)):
        if _has_events(referred) and object_session(referred) is not session:
            raise UnitOfWorkError(
                f"merge() would lose the events of {_named(referred)}: merge it by itself"
            )


def _has_events(instance: object) -> TypeGuard[AggregateRoot]:
    return isinstance(instance, AggregateRoot) and bool(len(instance.triggered_events))


def _has_deferred_events(aggregate: AggregateRoot) -> bool:
    events = aggregate.triggered_events
    return len(events) > len(events.snapshot())


def _named(aggregate: AggregateRoot) -> str:
    return f"{aggregate.aggregate_name} {aggregate.id!r}"
