"""Deleting an aggregate with all that belongs to it, also with what was never stored."""

from sqlalchemy.orm import Session, attributes

from pragmatic_ddd.domain import AggregateRoot


def delete(session: Session, aggregate: AggregateRoot) -> None:
    """Have the next flush delete an aggregate, and the children that go with it.

    A child that was added and not yet written is let go: SQLAlchemy would insert it all the same,
    as one of an aggregate that is gone.
    """
    session.delete(aggregate)
    state = attributes.instance_state(aggregate)
    with session.no_autoflush:
        children = [child for child, *_ in state.mapper.cascade_iterator("delete", state)]
    for child in children:
        if attributes.instance_state(child).key is None and child in session:
            session.expunge(child)
