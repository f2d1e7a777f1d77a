"""One try of a message, and what follows: done with, tried again later, or a dead letter."""

import logging
import time
from collections.abc import Callable
from typing import Final

import attrs

from pragmatic_ddd.application.events import (
    Failure,
    Redeliveries,
    report_dead_letter,
    report_failed_try,
)
from pragmatic_ddd_rabbitmq.errors import (
    NotConfirmedError,
    NotConnectedError,
    UndeliverableError,
)
from pragmatic_ddd_rabbitmq.received_message import ReceivedMessage

_logger = logging.getLogger(__name__)

Handle = Callable[[ReceivedMessage, bool], None]

_PAUSE_SECONDS: Final = 1.0


class ReturnedTooOftenError(Exception):
    """A message came back again and again without an answer: its process died or hung over it."""

    def __init__(self, returns: int) -> None:
        super().__init__(returns)
        self.returns = returns

    def __str__(self) -> str:
        return (
            f"it came back {self.returns} times without being settled, at last as the only one in "
            f"hand: the process that handled it died, or was cut off"
        )


@attrs.define(eq=False, kw_only=True)
class Handling:
    """Tries messages. Safe in many threads, for different aggregates.

    A quorum queue counts how often a message came back, because who had it went away. One that
    came back as often as it may be tried is *suspect*: it is handled beside no other one, and
    for the last time. If it comes back even so, and first, it has ended its process, and is
    given up untried. Those that came back with it are suspect, too, and have their try.

    Attributes:
        handle: Calls the subscribers; its second argument says whether it is the last try.
        bury: Publishes a dead letter, or raises.
        is_final: Whether an error makes another try useless.
        redeliveries: The failures of this process.
    """

    handle: Handle
    bury: Callable[[ReceivedMessage, Failure], None]
    is_final: Callable[[BaseException], bool]
    redeliveries: Redeliveries

    def is_alone(self, message: ReceivedMessage) -> bool:
        """Say whether a message is to be handled beside no other one.

        One that does not name its aggregate may be of any; so it keeps its place among all.
        """
        return not message.lane or self.is_suspect(message)

    def is_suspect(self, message: ReceivedMessage) -> bool:
        """Say whether a message came back too often to be handled beside others."""
        return message.returns >= self.redeliveries.max_attempts

    def rest_after(self, message: ReceivedMessage) -> float | None:
        """Try a message; return when it may be taken again, or ``None``: it is done with.

        Never raises: what goes wrong is a failure of the message.
        """
        try:
            return self._rest_after(message)
        except (NotConnectedError, NotConfirmedError, UndeliverableError) as error:
            _logger.warning("%s: its copy for later was not sent; it waits: %s", message, error)
            return time.monotonic() + _PAUSE_SECONDS
        except BaseException:
            _logger.exception("%s: handling it failed", message)
            return time.monotonic() + _PAUSE_SECONDS

    def _rest_after(self, message: ReceivedMessage) -> float | None:
        key = message.key
        failure = self.redeliveries.given_up(key)
        if failure is None:
            failure = self._untried(message) or self._tried(message)
        if failure is not None and not (failure.is_final and self._buried(message, failure)):
            return failure.not_before
        self.redeliveries.settled(key)
        return None

    def _untried(self, message: ReceivedMessage) -> Failure | None:
        """Return the failure of a message that ends its process."""
        if not message.is_first or message.returns <= self.redeliveries.max_attempts:
            return None
        error = ReturnedTooOftenError(message.returns)
        return self.redeliveries.failed(message.key, error, is_final=True)

    def _tried(self, message: ReceivedMessage) -> Failure | None:
        is_last = self.is_suspect(message) or self.redeliveries.is_last_try(message.key)
        try:
            self.handle(message, is_last)
        except (NotConnectedError, NotConfirmedError, UndeliverableError):
            raise  # of a copy that is to come later: the broker's fault, and no try of the message
        except BaseException as error:  # noqa: BLE001  # also of one that wants to end its thread
            failure = self.redeliveries.failed(
                message.key, error, is_final=is_last or self.is_final(error)
            )
            if not failure.is_final:
                report_failed_try(_logger, message, failure, self.redeliveries)
            return failure
        return None

    def _buried(self, message: ReceivedMessage, failure: Failure) -> bool:
        """Make a dead letter of a message that is given up; say whether it is done."""
        try:
            self.bury(message, failure)
        except Exception:
            self.redeliveries.postpone(failure)
            _logger.exception(
                "%s failed for good and could not be made a dead letter; it blocks its aggregate, "
                "and will be tried again",
                message,
            )
            return False
        report_dead_letter(_logger, message, failure)
        return True
