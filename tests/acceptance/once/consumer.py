"""A consuming process: python -m tests.acceptance.once.consumer PART.

It reads deliveries from its standard input, a JSON object in each line, and answers each by its
tag: ``done`` once it is committed, ``later`` where it must come again.
"""

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from pragmatic_ddd.application.events import (
    Dispatcher,
    EventConsumption,
    SubscriberRegistry,
    SubscribersFailedError,
)
from pragmatic_ddd.application.events.wire_attributes import TYPE
from pragmatic_ddd.application.events.wire_format import received_event
from pragmatic_ddd.application.inbox import CachedInbox, once, once_by_state
from pragmatic_ddd.application.metrics import NoMetrics
from pragmatic_ddd.errors import PragmaticError
from pragmatic_ddd.ports import IInbox
from pragmatic_ddd_redis.inbox_cache import RedisInboxCache
from tests import servers
from tests.acceptance.once.ground import Ground, Part, Tally
from tests.acceptance.once.history import Counted, serializer

_THREADS = 2
_OUTPUT = 1

Subscriber = Callable[[Counted], None]


class NotYetError(PragmaticError):
    """The effect of the event before is not there."""

    retryable = True


class Effects:
    """What the handlers of the inboxes do."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def count(self, event: Counted, session: Session) -> None:
        """Count an event, whatever was counted before."""
        tally = self._ground.tallies.c
        session.execute(
            sa.update(self._ground.tallies)
            .where(tally.id == event.aggregate_id)
            .values(count=tally["count"] + 1, last=event.number)
        )
        self._note(event, session)

    def count_in_turn(self, event: Counted, session: Session) -> None:
        """Count an event if the one before it was counted: the handler itself waits."""
        tally = self._ground.tallies.c
        changed = session.execute(
            sa.update(self._ground.tallies)
            .where(tally.id == event.aggregate_id, tally.last == event.number - 1)
            .values(count=tally["count"] + 1, last=event.number)
        )
        if changed.rowcount != 1:  # type: ignore[attr-defined]  # of an UPDATE it is there
            raise NotYetError(f"{event.number} of {event.aggregate_id}")
        self._note(event, session)

    def _note(self, event: Counted, session: Session) -> None:
        session.execute(
            sa.insert(self._ground.effects).values(
                aggregate_id=event.aggregate_id, number=event.number
            )
        )


def _without_inbox(ground: Ground) -> Subscriber:
    """Return a subscriber that remembers nothing, to see that it shows."""
    effects = Effects(ground)

    def handle(event: Counted) -> None:
        with ground.sessions.begin() as session:
            effects.count(event, session)

    return handle


def _in_turn(ground: Ground, inbox: IInbox[Session]) -> Subscriber:
    return once(inbox, "count", Effects(ground).count_in_turn)


def _as_it_comes(ground: Ground, inbox: IInbox[Session]) -> Subscriber:
    return once(inbox, "count", Effects(ground).count)


def _behind_redis(ground: Ground, inbox: IInbox[Session]) -> IInbox[Session]:
    cache = RedisInboxCache.at(servers.redis_url(), namespace=ground.part.prefix)
    return CachedInbox(inbox=inbox, cache=cache)


def _by_state(ground: Ground) -> Subscriber:
    effects = ground.effects
    units_of_work = ground.units_of_work()

    def apply(tally: Tally, event: Counted) -> None:
        if tally.last != event.number - 1:
            raise NotYetError(f"{event.number} of {event.aggregate_id}")
        tally.last = event.number
        tally.count += 1
        session = sa.orm.object_session(tally)
        assert session is not None
        with session.no_autoflush:  # the version is checked by the commit
            session.execute(
                sa.insert(effects).values(aggregate_id=event.aggregate_id, number=event.number)
            )

    return once_by_state(
        units_of_work,
        Tally,
        is_applied=lambda tally, event: tally.last >= event.number,
        apply=apply,
    )


# Only watermarks keep the order by themselves: elsewhere the handler, or the state, waits for it.
SUBSCRIBERS: dict[str, Callable[[Ground], Subscriber]] = {
    "nothing": _without_inbox,
    "message_table": lambda ground: _in_turn(ground, ground.message_inbox()),
    "watermark": lambda ground: _as_it_comes(ground, ground.watermark_inbox()),
    "message_table_behind_redis": lambda ground: _in_turn(
        ground, _behind_redis(ground, ground.message_inbox())
    ),
    "watermark_behind_redis": lambda ground: _as_it_comes(
        ground, _behind_redis(ground, ground.watermark_inbox())
    ),
    "state": _by_state,
}


def main() -> None:
    ground = Ground(Part.from_text(sys.argv[1]))
    registry = SubscriberRegistry()
    registry.register_subscriber("count", Counted, SUBSCRIBERS[ground.part.inbox](ground))
    registry.close()
    consumption = EventConsumption(
        group="once",
        names={Counted.event_type: Counted.event_type},
        registry=registry,
        dispatcher=Dispatcher(registry),
        serializer=serializer,
        metrics=NoMetrics(),
    )
    with ThreadPoolExecutor(_THREADS) as pool:
        for line in sys.stdin:
            pool.submit(_take, consumption, json.loads(line))


def _take(consumption: EventConsumption, delivery: dict[str, Any]) -> None:
    attributes, body, tag = delivery["attributes"], delivery["body"].encode(), delivery["tag"]
    try:
        consumption.handle(
            attributes[TYPE],
            lambda: received_event(attributes, body, where=f"delivery {tag}"),
            key=str(tag),
            final=False,
            where=f"delivery {tag}",
        )
    except SubscribersFailedError as error:
        cause = error.__cause__
        may_pass = isinstance(cause, PragmaticError) and cause.retryable
        _answer("later" if may_pass else "wrong", tag, "" if may_pass else repr(cause))
    except Exception as error:  # noqa: BLE001  # the thread's outermost frame
        _answer("wrong", tag, repr(error))
    else:
        _answer("done", tag)


def _answer(word: str, tag: int, reason: str = "") -> None:
    """Write a line in one piece: short enough that no other thread's comes in between."""
    os.write(_OUTPUT, f"{word} {tag} {reason[:500]!r}\n".encode())


if __name__ == "__main__":
    main()
