"""Writes of aggregates under their version check: noticed when they happen, caused when missing.

The version check puts the events of one aggregate in order, so every aggregate with events needs
one. SQLAlchemy leaves the root's row alone when only a child, or nothing, has changed.
"""

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

import attrs
from sqlalchemy import Column, Connection, event
from sqlalchemy.orm import (
    ColumnProperty,
    LoaderCallableStatus,
    Mapper,
    attributes,
    object_session,
)

from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd.errors import UnitOfWorkError
from pragmatic_ddd_sqlalchemy.outbox_session import OutboxSession
from pragmatic_ddd_sqlalchemy.session_frames import State, Write
from pragmatic_ddd_sqlalchemy.session_work import SessionWork

AnyMapper = Mapper[Any]  # of whatever class is mapped

_ABSENT = object()


@functools.cache
def notice_writes() -> None:
    """Have the sessions with an outbox told of every aggregate that they write or overwrite."""
    listeners: dict[str, Callable[..., None]] = {
        "before_insert": _before_insert,
        "after_insert": _after_insert,
        "before_update": _before_update,
        "after_update": _after_update,
        "after_delete": _after_delete,
        "refresh": _refresh,
    }
    for name, listener in listeners.items():
        event.listen(AggregateRoot, name, listener, propagate=True)


@functools.lru_cache(maxsize=1000)
def version_key(mapper: AnyMapper) -> str | None:
    """Return the attribute that holds the version; ``None`` for a class without one."""
    if mapper.version_id_col is None:
        return None
    return mapper.get_property_by_column(mapper.version_id_col).key


def version_of(aggregate: AggregateRoot, state: State, write: Write | None) -> int:
    """Return the number of the change that has been written; 0 for a class without versions.

    Deleting an aggregate is a change as any other: its number is one above the last version.

    Raises:
        UnitOfWorkError: The version is no whole number.
    """
    key = version_key(state.mapper)
    if key is None:
        return 0
    if write is not None and write.version is not None:
        version = write.version
    else:
        version = attributes.get_attribute(aggregate, key)
        version = _next(version) if state.deleted else version
    if not isinstance(version, int) or version < 1:
        raise UnitOfWorkError(
            f"{type(aggregate).__name__} has version {version!r}: events need a whole number"
        )
    return version


def restore_version(aggregate: AggregateRoot, before: object) -> None:
    """Give an aggregate that was not inserted after all the version that it had before."""
    state: State = attributes.instance_state(aggregate)
    key = version_key(state.mapper)
    if key is None:
        return
    if before is _ABSENT:
        state.dict.pop(key, None)
    else:
        attributes.set_committed_value(aggregate, key, before)


def is_plainly_changed(state: State) -> bool:
    """Say whether a flush will write an aggregate's row anyway, as far as a glance tells.

    It compares as the flush does. Where a listener takes the change back after all, it errs.
    """
    columns, values = state.mapper.column_attrs, state.dict
    return any(
        key in columns
        and key in values
        and state.manager[key].impl.is_equal(values[key], before) is not True
        for key, before in state.committed_state.items()
    )


def touch(aggregate: AggregateRoot) -> None:
    """Have the next flush write an aggregate's row under its version check; once is enough.

    Raises:
        UnitOfWorkError: The database makes its versions, and there is no column to write.
    """
    state: State = attributes.instance_state(aggregate)
    mapper = state.mapper
    key = version_key(mapper)
    if callable(mapper.version_id_generator) and key is not None:
        # The old version goes into the WHERE clause, as with any other change.
        for version in _unchanged(aggregate, state, key):
            attributes.set_attribute(aggregate, key, mapper.version_id_generator(version))
    else:
        key = _touchable_key(mapper)
        attributes.get_attribute(aggregate, key)
        attributes.flag_modified(aggregate, key)


def _unchanged(aggregate: AggregateRoot, state: State, key: str) -> Sequence[object]:
    """Return the value of an attribute that has no net change; nothing where it has one."""
    if key in state.committed_state:  # perhaps set to what it was, as merge() does
        return attributes.get_history(aggregate, key).unchanged or ()
    return (attributes.get_attribute(aggregate, key),)


def _touchable_key(mapper: AnyMapper) -> str:
    for prop in mapper.column_attrs:
        if _is_touchable(prop, mapper):
            return prop.key
    raise UnitOfWorkError(
        f"{mapper.class_.__name__} has events, and the database makes its versions: it needs a "
        f"plain column for the UPDATE that raises the version when nothing else has changed"
    )


def _is_touchable(prop: ColumnProperty[Any], mapper: AnyMapper) -> bool:
    column = prop.columns[0]
    return (
        isinstance(column, Column)
        and column is not mapper.version_id_col
        and not (column.primary_key or column.computed or column.identity)
        and column.onupdate is None
        and column.server_onupdate is None
    )


def _work_of(state: State) -> SessionWork | None:
    session = state.session
    return session.outbox_work if isinstance(session, OutboxSession) else None


def _before_insert(mapper: AnyMapper, _: Connection, aggregate: AggregateRoot) -> None:
    state: State = attributes.instance_state(aggregate)
    work, key = _work_of(state), version_key(mapper)
    if work is not None and key is not None:
        work.note_version_before(state, state.dict.get(key, _ABSENT))
        if not state.dict.get(key):
            # Else its 0 would be written where it takes the row of one that is just deleted.
            state.dict.pop(key, None)
            state.committed_state.pop(key, None)


def _after_insert(mapper: AnyMapper, connection: Connection, aggregate: AggregateRoot) -> None:
    state: State = attributes.instance_state(aggregate)
    work = _work_of(state)
    if work is not None:
        version = _loaded_version(mapper, state)
        write = _write(connection, version, aggregate)
        work.written(state, attrs.evolve(write, is_new=True))


def _before_update(mapper: AnyMapper, _: Connection, aggregate: AggregateRoot) -> None:
    state: State = attributes.instance_state(aggregate)
    work = _work_of(state)
    if work is not None:
        work.versions_to_update[state] = _committed_version(mapper, state)


def _after_update(mapper: AnyMapper, connection: Connection, aggregate: AggregateRoot) -> None:
    """Note the write, if there was one: this is called whenever something looked changed."""
    state: State = attributes.instance_state(aggregate)
    work = _work_of(state)
    if work is not None:
        before = work.versions_to_update.pop(state, None)
        version = _loaded_version(mapper, state)
        _refuse_fall(aggregate, before, version)
        if version != before or (_has_no_counter(mapper) and _has_net_changes(aggregate)):
            work.written(state, _write(connection, version, aggregate))


def _after_delete(mapper: AnyMapper, connection: Connection, aggregate: AggregateRoot) -> None:
    state: State = attributes.instance_state(aggregate)
    work = _work_of(state)
    if work is not None:
        version = _next(_committed_version(mapper, state))
        work.written(state, _write(connection, version, aggregate))


def _refresh(aggregate: AggregateRoot, _: object, names: Collection[str] | None) -> None:
    work = _work_of(attributes.instance_state(aggregate))
    if work is not None:
        work.overwritten(aggregate, names)


def _write(connection: Connection, version: object, aggregate: AggregateRoot) -> Write:
    return Write(connection, version, len(aggregate.triggered_events))


def _loaded_version(mapper: AnyMapper, state: State) -> object:
    """Return the version that the flush wrote; ``None`` while only the database knows it."""
    key = version_key(mapper)
    return None if key is None else state.dict.get(key)


def _committed_version(mapper: AnyMapper, state: State) -> object:
    key = version_key(mapper)
    if key is None:
        return None
    if key in state.committed_state:
        before = state.committed_state[key]
        return None if before is LoaderCallableStatus.NO_VALUE else before
    if key in state.dict:
        return state.dict[key]
    history = attributes.get_history(state.obj(), key)
    return next(iter(history.deleted or history.unchanged or ()), None)


def _refuse_fall(aggregate: AggregateRoot, before: object, version: object) -> None:
    if isinstance(before, int) and isinstance(version, int) and version < before:
        raise UnitOfWorkError(
            f"{type(aggregate).__name__} {aggregate.id!r} is stored in version {before}, and would "
            f"be again, as version {version}: mark_new() is for what no session has loaded"
        )


def _has_no_counter(mapper: AnyMapper) -> bool:
    return mapper.version_id_col is None or mapper.version_id_generator is False


def _has_net_changes(aggregate: AggregateRoot) -> bool:
    session = object_session(aggregate)
    return session is not None and session.is_modified(aggregate, include_collections=False)


def _next(version: object) -> object:
    return version + 1 if isinstance(version, int) else version
