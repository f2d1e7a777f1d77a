"""The reference model: what was committed, what reached the broker, and who is to blame.

It sees every call of the simulated processes to store and broker, and knows nothing of how the
outbox works, only of what it promises. What breaks a promise is noted in ``violations``.
"""

from collections import defaultdict
from collections.abc import Iterable

import attrs

from pragmatic_ddd.ports import ClaimedMessage, OutboxMessage, OutboxStatus
from tests.model.rows import Row

_ROUNDING_SECONDS = 0.002  # SQLite's clock has milliseconds


@attrs.frozen
class Copy:
    """One arrival of a message at the broker, under the claim of its sender."""

    message_id: str
    claim_token: str
    deadline: float


@attrs.define(eq=False)
class History:
    """What has happened so far.

    Attributes:
        max_attempts: The limit of the configuration.
        committed: Messages by id, in the order of the commits.
        copies: What reached the broker, in order.
        violations: Sentences about broken promises.
    """

    max_attempts: int
    committed: dict[str, OutboxMessage] = attrs.field(factory=dict, init=False)
    copies: list[Copy] = attrs.field(factory=list, init=False)
    violations: list[str] = attrs.field(factory=list, init=False)
    _claimed_at: dict[str, float] = attrs.field(factory=dict, init=False)
    _receipts: "defaultdict[str, set[str]]" = attrs.field(
        factory=lambda: defaultdict(set), init=False
    )
    _unknown: set[str] = attrs.field(factory=set, init=False)
    _blame: "defaultdict[str, int]" = attrs.field(factory=lambda: defaultdict(int), init=False)
    _rejected: set[str] = attrs.field(factory=set, init=False)
    _ever_skipped: set[str] = attrs.field(factory=set, init=False)
    _purged: set[str] = attrs.field(factory=set, init=False)
    _rows: dict[str, Row] = attrs.field(factory=dict, init=False)

    @property
    def rows(self) -> dict[str, Row]:
        """The rows as they were last seen, by message."""
        return self._rows

    def breaks(self, promise: str) -> None:
        self.violations.append(promise)

    def commit(self, messages: Iterable[OutboxMessage]) -> None:
        self.committed.update((message.message_id, message) for message in messages)

    def claim(self, claimed: ClaimedMessage, now: float) -> None:
        self._claimed_at.setdefault(claimed.claim_token, now)
        if claimed.taken_over:
            self._blame[claimed.message.message_id] += 1

    def arrive(self, message: OutboxMessage, claimed: ClaimedMessage, now: float) -> None:
        """Note that the broker has a message, one copy more."""
        name = message.message_id
        earlier = [copy for copy in self.copies if copy.message_id == name]
        self.copies.append(Copy(name, claimed.claim_token, claimed.deadline))
        if name not in self.committed:
            self.breaks(f"{name} reached the broker, and was never committed")
        elif earlier:
            if not self._is_excused(claimed, earlier, now):
                self.breaks(f"{name} reached the broker twice without excuse")
        elif message.aggregate_version is not None:
            self._check_order(message)

    def confirm(self, message: OutboxMessage, receipt: str) -> None:
        """Note that the sender is told that the broker has it."""
        self._receipts[message.message_id].add(receipt)

    def lose_answer(self, message: OutboxMessage) -> None:
        """Note that the sender cannot know that the broker has it."""
        self._unknown.add(message.message_id)

    def blame(self, message: OutboxMessage, *, final: bool = False) -> None:
        """Note a failure that may count as an attempt, or ends the message."""
        self._blame[message.message_id] += 1
        if final:
            self._rejected.add(message.message_id)

    def replay(self, message_ids: Iterable[str]) -> None:
        for name in message_ids:
            self._blame.pop(name, None)
            self._rejected.discard(name)
            self._rows.pop(name, None)

    def skip(self, message_ids: Iterable[str]) -> None:
        for name in message_ids:
            self._ever_skipped.add(name)
            self._rows.pop(name, None)

    def purge(self, message_ids: Iterable[str]) -> None:
        self._purged.update(message_ids)

    def observe(self, rows: Iterable[Row]) -> None:
        """Compare the table with what it may be by now."""
        seen = {row.message_id: row for row in rows}
        for name in self.committed.keys() - seen.keys() - self._purged:
            self.breaks(f"{name} was committed, and its row is gone")
        for name in seen.keys() - self.committed.keys():
            self.breaks(f"{name} was never committed, and has a row")
        for name, row in seen.items():
            self._check(row, self._rows.get(name))
        self._rows = seen

    def _check(self, row: Row, before: Row | None) -> None:
        name = row.message_id
        if before is not None and not before.is_unsent and row != before:
            self.breaks(f"{name} was {before.status}, and is changed: {row}")
        if before is not None and before.status is OutboxStatus.FAILED and row != before:
            self.breaks(f"{name} was FAILED, and nobody has replayed or skipped it: {row}")
        if row.status is OutboxStatus.SENT and row.receipt not in self._receipts[name]:
            self.breaks(f"{name} is SENT with {row.receipt!r}, which the broker never answered")
        limit = min(self.max_attempts, self._blame[name])
        if row.attempts > limit:
            self.breaks(f"{name} has {row.attempts} attempts: it failed {limit} times by itself")
        used_up = name in self._rejected or row.attempts >= self.max_attempts
        if row.status is OutboxStatus.FAILED and not used_up:
            self.breaks(f"{name} is FAILED after {row.attempts} attempts")

    def _check_order(self, message: OutboxMessage) -> None:
        arrived = {copy.message_id for copy in self.copies} | self._ever_skipped
        for earlier in self.committed.values():
            if earlier.message_id == message.message_id:
                return
            if (
                earlier.aggregate == message.aggregate
                and earlier.aggregate_version is not None
                and earlier.message_id not in arrived
            ):
                self.breaks(f"{message.message_id} has overtaken {earlier.message_id}")

    def _is_excused(self, claimed: ClaimedMessage, earlier: list[Copy], now: float) -> bool:
        """Whether an outcome was unknown, or one of the senders was out of its lease."""
        if claimed.message.message_id in self._unknown:
            self._unknown.remove(claimed.message.message_id)  # it excuses one copy
            return True
        if claimed.deadline <= now:
            return True
        taken_at = self._claimed_at.get(claimed.claim_token, now) + _ROUNDING_SECONDS
        return any(
            copy.claim_token != claimed.claim_token and copy.deadline <= taken_at
            for copy in earlier
        )
