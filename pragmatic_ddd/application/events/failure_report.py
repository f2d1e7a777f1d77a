"""What is logged of a message that failed: which event, at whom, and of what, in one line.

A first try that fails is logged with its traceback, and so is the last one. Those between them
fail in the same way, as a rule, so that their line is enough.
"""

import logging

from pragmatic_ddd.application.events.consumption_errors import SubscribersFailedError
from pragmatic_ddd.application.events.redelivery import Failure, Redeliveries

_MOST_CHARACTERS = 1000


def report_failed_try(
    logger: logging.Logger, where: object, failure: Failure, redeliveries: Redeliveries
) -> None:
    """Log a failed try of a message that will be tried again, as a warning.

    Args:
        logger: Where to.
        where: Which message it is, for people; its ``str`` is logged.
        failure: What is known of it, this try included.
        redeliveries: Where its tries are counted.
    """
    logger.warning(
        "%s failed, try %s of %s; it will be tried again: %s",
        where,
        failure.attempts,
        redeliveries.max_attempts,
        _line(failure.error),
        exc_info=failure.error if failure.attempts == 1 else None,
    )


def report_dead_letter(logger: logging.Logger, where: object, failure: Failure) -> None:
    """Log that a message has become a dead letter, as an error.

    Args:
        logger: Where to.
        where: Which message it is, for people; its ``str`` is logged.
        failure: What is known of it.
    """
    logger.error(
        "%s is a dead letter after %s tries: %s",
        where,
        failure.attempts,
        _line(failure.error),
        exc_info=failure.error,
    )


def _line(error: BaseException) -> str:
    """Return an error as one line; the text of a handler's error may be long, or fail itself."""
    name = type(error).__name__
    try:
        text = " ".join(str(error).split())
    except Exception as failure:  # noqa: BLE001  # a report must not fail for an error's sake
        return f"{name}, whose text cannot be had: {type(failure).__name__}"
    if not isinstance(error, SubscribersFailedError):  # which has the names of its own
        text = f"{name}: {text}" if text else name
    if len(text) > _MOST_CHARACTERS:
        return f"{text[:_MOST_CHARACTERS]}…"
    return text
