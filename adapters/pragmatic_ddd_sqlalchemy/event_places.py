"""Places before: each event's message says where its aggregate's event before it stands.

    outbox = SqlAlchemyOutbox(..., places=EventPlaces([Order, Parcel]))

    UPDATE of the aggregate ──▶ its place is moved, the one before comes back ──▶ outbox rows

Only then can a consumer tell a version without events from an event that has not come. It costs
one statement for each commit with events of these aggregates, two on MySQL and MariaDB.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import sqlalchemy as sa

from pragmatic_ddd.application.arguments import check_class, of_type
from pragmatic_ddd.domain import AggregateRoot
from pragmatic_ddd.ports import OutboxMessage
from pragmatic_ddd.ports.event_place import BEFORE_ALL, EventPlace
from pragmatic_ddd.ports.message_headers import AGGREGATE_EPOCH, PREVIOUS_PLACE
from pragmatic_ddd_sqlalchemy.dialects.event_places_sql import EventPlacesSql
from pragmatic_ddd_sqlalchemy.errors import translated
from pragmatic_ddd_sqlalchemy.event_places_table import event_places_table
from pragmatic_ddd_sqlalchemy.row_limits import checked_key, checked_number
from pragmatic_ddd_sqlalchemy.rows import batches

_FIRST_VERSION = 1

Change = tuple[str, str, int]  # aggregate type, aggregate id, version


@attrs.define(eq=False)
class EventPlaces:
    """Knows the place of the last event of each aggregate of some classes.

    Attributes:
        aggregate_types: Classes of aggregates with a version; the events of others are left as
            they are.
        table: Made by ``event_places_table``, in the database of the outbox.

    Raises:
        TypeError: One is no class of aggregates, or the table none.
    """

    aggregate_types: Sequence[type[AggregateRoot]] = attrs.field()
    table: sa.Table = attrs.field(
        factory=lambda: event_places_table(sa.MetaData()), validator=of_type(sa.Table)
    )
    _names: frozenset[str] = attrs.field(init=False, repr=False)
    _sql: EventPlacesSql = attrs.field(init=False, repr=False)

    @aggregate_types.validator
    def _check_aggregate_types(self, _: object, value: Sequence[object]) -> None:
        for one in value:
            check_class("aggregate_types", one, AggregateRoot)

    def __attrs_post_init__(self) -> None:
        self._names = frozenset(one.aggregate_name for one in self.aggregate_types)
        self._sql = EventPlacesSql(self.table)

    def told(
        self, connection: sa.Connection, messages: Sequence[OutboxMessage]
    ) -> list[OutboxMessage]:
        """Return messages that say which place was before theirs; moves the places.

        Args:
            connection: Its open transaction has just written the aggregates, under their version
                check: nobody else moves their places before its end.
            messages: In the order in which they are stored.

        Raises:
            OutboxStoreError: The database failed; the transaction must be rolled back.
        """
        changes: dict[Change, list[OutboxMessage]] = {}
        for message in messages:
            version = message.aggregate_version
            if version is not None and message.aggregate_type in self._names:
                changes.setdefault((*message.aggregate, version), []).append(message)
        told: dict[str, OutboxMessage] = {}
        with translated(connection):
            for rows in _rounds(changes):
                for change, headers in self._moved(connection, rows):
                    told |= _chained(changes[change], headers)
        return [told.get(message.message_id, message) for message in messages]

    def _moved(
        self, connection: sa.Connection, rows: Sequence[dict[str, Any]]
    ) -> Iterator[tuple[Change, Mapping[str, str]]]:
        """Move the places of different aggregates; yield the headers of the first event of each."""
        versions = {(row["aggregate_type"], row["aggregate_id"]): row["version"] for row in rows}
        for batch in batches(rows):
            for kind, key, epoch, version, index in self._sql.move(connection, batch):
                now = versions[kind, key]
                headers = _headers(epoch, version, index, is_first=now == _FIRST_VERSION)
                yield (kind, key, now), headers


def _rounds(changes: Mapping[Change, Sequence[OutboxMessage]]) -> Iterator[list[dict[str, Any]]]:
    """Yield rows, each aggregate once in a round: it has two where it is deleted and made anew."""
    rounds: list[dict[tuple[str, str], dict[str, Any]]] = []
    for (kind, key, _), messages in changes.items():
        last = messages[-1]
        place = {
            "aggregate_type": checked_key(last, "aggregate_type"),
            "aggregate_id": checked_key(last, "aggregate_id"),
            "version": checked_number(last, "aggregate_version"),
            "event_index": checked_number(last, "event_index"),
        }
        free = next((one for one in rounds if (kind, key) not in one), None)
        if free is None:
            free = {}
            rounds.append(free)
        free[kind, key] = place
    for one in rounds:
        yield [one[aggregate] for aggregate in sorted(one)]  # all lock in the same order


def _headers(
    epoch: int, version: int | None, index: int | None, *, is_first: bool
) -> Mapping[str, str]:
    headers = {AGGREGATE_EPOCH: str(epoch)} if epoch else {}
    if version is not None and index is not None:
        return headers | {PREVIOUS_PLACE: str(EventPlace(version=version, index=index))}
    if is_first:
        return headers | {PREVIOUS_PLACE: str(BEFORE_ALL)}
    return headers  # it may have had events before its places were kept


def _chained(
    messages: Sequence[OutboxMessage], headers: Mapping[str, str]
) -> Iterator[tuple[str, OutboxMessage]]:
    """Yield the messages of one change by id: the first with these headers, each after another."""
    for message in messages:
        yield message.message_id, attrs.evolve(message, headers={**message.headers, **headers})
        place = EventPlace(version=message.aggregate_version or 0, index=message.event_index)
        headers = {**headers, PREVIOUS_PLACE: str(place)}
