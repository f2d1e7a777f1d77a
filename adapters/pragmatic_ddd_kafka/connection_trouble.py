"""What a client says of its connections: told once, and kept as the cause of what fails."""

import logging
import re
import time

import attrs
from confluent_kafka import KafkaError

_logger = logging.getLogger(__name__)

_ALL_DOWN = KafkaError._ALL_BROKERS_DOWN  # noqa: SLF001 - so the client names its own codes
_FATAL = KafkaError._FATAL  # noqa: SLF001
_TELL_AGAIN_SECONDS = 300.0
_MOST_TOLD = 100
_VARYING = re.compile(r"\s*\(after .*\)$")


@attrs.define(eq=False)
class ConnectionTrouble:
    """The last trouble of one client, which repeats itself many times a second in an outage.

    Noted in the client's thread, read in others.

    Attributes:
        owner: Whose it is, for the log.
        is_fatal: Whether the client has said that it does nothing more.
    """

    owner: str
    is_fatal: bool = attrs.field(default=False, init=False)
    _text: str | None = attrs.field(default=None, init=False)
    _noted_at: float = attrs.field(default=0.0, init=False)
    _is_over: bool = attrs.field(default=True, init=False)
    _told_at: dict[str, float] = attrs.field(factory=dict, init=False)

    def note(self, error: KafkaError) -> None:
        """Note what the client says; tell people of it once in a while."""
        text = f"{error.name()}: {_VARYING.sub('', error.str())}"
        now = time.monotonic()
        # Heard through its callback, a fatal error has the code and not the mark.
        self.is_fatal = self.is_fatal or error.fatal() or error.code() == _FATAL
        if error.code() == _ALL_DOWN and not self._is_over:
            self._noted_at = now  # what was said before says more
            return
        self._text, self._noted_at, self._is_over = text, now, False
        if now - self._told_at.get(text, -_TELL_AGAIN_SECONDS) < _TELL_AGAIN_SECONDS:
            return
        if len(self._told_at) >= _MOST_TOLD:
            self._told_at.clear()
        self._told_at[text] = now
        _logger.warning("%s: %s", self.owner, text)

    def over(self) -> None:
        """Note that the cluster answers."""
        self._is_over = True

    def since(self, begun: float) -> str | None:
        """Return the trouble that there has been since then; ``None`` where there was none.

        Args:
            begun: Reading of the monotonic clock, in seconds.
        """
        return self._text if self._noted_at >= begun or not self._is_over else None
