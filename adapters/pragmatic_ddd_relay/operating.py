"""What an operator asks of the outbox: how much waits, what is dead; replay it, skip it."""

from collections.abc import Callable, Sequence

import attrs

from pragmatic_ddd.ports import IOutboxOperations, OutboxEntry, OutboxStatus
from pragmatic_ddd_relay.sentences import one_line


@attrs.frozen(kw_only=True)
class Answer:
    """What a command says.

    Attributes:
        lines: The result, for a person or the next command.
        remarks: What else a person should know.
        is_complete: Whether everything that was asked for was done.
    """

    lines: Sequence[str]
    remarks: Sequence[str] = ()
    is_complete: bool = True


def backlog(outbox: IOutboxOperations) -> Answer:
    """Count what is not yet sent: a name and a number on each line.

    Raises:
        OutboxStoreError: Nothing was changed.
    """
    waiting = outbox.backlog()
    return Answer(
        lines=[
            f"pending {waiting.pending}",
            f"processing {waiting.processing}",
            f"failed {waiting.failed}",
            f"oldest_unsent_age_seconds {waiting.oldest_unsent_age.total_seconds():.1f}",
        ]
    )


def failed(outbox: IOutboxOperations, *, limit: int, after_id: int) -> Answer:
    """List dead letters by id, one on each line, its columns parted by tabs.

    Raises:
        OutboxStoreError: Nothing was changed.
    """
    entries = outbox.list_failed(limit=limit, after_id=after_id)
    remarks = []
    if not entries:
        remarks = ["nothing is dead" if after_id == 0 else f"nothing is dead after {after_id}"]
    elif len(entries) == limit:
        remarks = [f"there may be more: --after-id {entries[-1].id}"]
    return Answer(lines=[_columns(one) for one in entries], remarks=remarks)


def replay(outbox: IOutboxOperations, message_ids: Sequence[str], *, out_of_order: bool) -> Answer:
    """Have dead letters sent again.

    Raises:
        OutboxStoreError: Nothing was changed.
    """
    states = {OutboxStatus.FAILED, *([OutboxStatus.SKIPPED] if out_of_order else [])}
    return _change(
        outbox,
        message_ids,
        states,
        lambda ids: outbox.replay(ids, out_of_order=out_of_order),
        "replayed {}; the next poll of a relay sends them",
    )


def skip(outbox: IOutboxOperations, message_ids: Sequence[str], *, by: str, reason: str) -> Answer:
    """Have dead letters never sent.

    Raises:
        OutboxStoreError: Nothing was changed.
    """
    return _change(
        outbox,
        message_ids,
        {OutboxStatus.FAILED},
        lambda ids: outbox.skip(ids, by=by, reason=reason),
        "skipped {}; the next poll of a relay sends what waited behind them",
    )


def _change(
    outbox: IOutboxOperations,
    message_ids: Sequence[str],
    states: set[OutboxStatus],
    change: Callable[[Sequence[str]], int],
    said: str,
) -> Answer:
    ids = list(dict.fromkeys(message_ids))
    before = {one: outbox.find(one) for one in ids}
    changed = change(ids)
    return Answer(
        lines=[said.format(f"{changed} of {len(ids)}")],
        remarks=[
            f"{_printable(one)}: passed over, {_state(entry)}"
            for one, entry in before.items()
            if entry is None or entry.status not in states
        ],
        is_complete=changed == len(ids),
    )


def _state(entry: OutboxEntry | None) -> str:
    return "it is not in the outbox" if entry is None else f"it is {entry.status}"


def _columns(entry: OutboxEntry) -> str:
    message = entry.message
    columns = [
        message.message_id,
        message.aggregate_type,
        message.aggregate_id,
        message.event_type,
        str(entry.attempts),
        entry.created_at.isoformat(timespec="seconds"),
        one_line(entry.last_error or ""),
    ]
    return "\t".join(map(_printable, columns))


def _printable(text: str) -> str:
    """Escape what would end the line or the column, or talk to the terminal."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
