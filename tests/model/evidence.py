"""What one process may hold against a message: the same rule as the promise about outages (G8)."""

import attrs


@attrs.define(eq=False)
class Evidence:
    """Confirmations that a process has seen, and how many there were at each message's last try."""

    _confirmations: int = attrs.field(default=0, init=False)
    _at_last_try: dict[str, int] = attrs.field(factory=dict, init=False)

    def confirmed(self) -> None:
        self._confirmations += 1

    def unconfirmed(self, message_id: str) -> bool:
        """Return whether it counts: the broker confirmed others since this one's last try."""
        before = self._at_last_try.get(message_id)
        self._at_last_try[message_id] = self._confirmations
        return before is not None and self._confirmations > before
