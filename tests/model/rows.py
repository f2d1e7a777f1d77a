"""A row of the outbox as the model looks at it, on whatever store."""

import datetime as dt

import attrs

from pragmatic_ddd.ports import OutboxStatus

_OPEN = frozenset({OutboxStatus.PENDING, OutboxStatus.PROCESSING})
_ENDED = frozenset({OutboxStatus.SENT, OutboxStatus.SKIPPED})


@attrs.frozen(kw_only=True)
class Row:
    id: int
    message_id: str
    aggregate: str
    status: OutboxStatus
    attempts: int
    failures: int
    due_at: dt.datetime
    claim_token: str | None
    receipt: str | None
    sent_at: dt.datetime | None

    @property
    def is_open(self) -> bool:
        return self.status in _OPEN

    @property
    def is_unsent(self) -> bool:
        return self.status not in _ENDED

    @property
    def is_free(self) -> bool:
        return (
            self.status is OutboxStatus.PENDING and not self.failures and self.claim_token is None
        )

    def belongs_to(self, claim_token: str | None) -> bool:
        return self.is_open and claim_token is not None and self.claim_token == claim_token
