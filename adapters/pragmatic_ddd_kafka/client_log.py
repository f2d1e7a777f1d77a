"""The log lines of librdkafka, as records of ``logging``."""

import logging

_logger = logging.getLogger("pragmatic_ddd_kafka.librdkafka")

# Facilities whose lines come many times a second in an outage, or tell what errors tell as well.
_TOLD_ELSEWHERE = frozenset({"FAIL", "ERROR", "REQTMOUT", "GETPID", "CONFWARN", "MAXPOLL", "FATAL"})


class ClientLog:
    """Takes the place of a ``Logger`` in a client's settings; only its ``log`` is called."""

    def log(self, level: int, text: str, *arguments: object) -> None:
        """Pass on a line; ``DEBUG`` for what is told elsewhere."""
        is_told = bool(arguments) and arguments[0] in _TOLD_ELSEWHERE
        _logger.log(logging.DEBUG if is_told else level, text, *arguments)
