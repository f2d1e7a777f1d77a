"""The command line of the relay process: arguments, logging, exit codes.

python -m pragmatic_ddd_relay run --app shop.relay:application

0  ended by a signal, or by ``--once`` with nothing left that is due
1  the process failed, or something that is due could not be sent
2  wrong arguments, or no application could be made of ``--app``
"""

import argparse
import logging
import sys
import time
import traceback
from collections.abc import Sequence
from types import TracebackType

from pragmatic_ddd.errors import ConfigurationError, PragmaticError
from pragmatic_ddd_relay.application import load_application
from pragmatic_ddd_relay.service import RelayService

WRONG_USE = 2

_LEVELS = ("debug", "info", "warning", "error")


_INDENT = "    "

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class OneLineFormatter(logging.Formatter):
    """Writes each record on one line, and a traceback indented below it.

    So nothing that a message or an error says can be taken for another record.
    """

    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """Return the line."""
        return super().formatMessage(record).replace("\r", "\\r").replace("\n", "\\n")

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802
        """Return the traceback, indented."""
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        """Return the stack, indented."""
        return _indented(super().formatStack(stack_info))


def _indented(text: str) -> str:
    return "\n".join(_INDENT + line for line in text.splitlines())


def main(arguments: Sequence[str]) -> int:
    """Run the command and return the exit code.

    Raises:
        SystemExit: The arguments are wrong, or help was asked for.
    """
    chosen = _parser().parse_args(arguments)
    _set_up_logging(chosen.log_level)
    try:
        application = load_application(chosen.app)
    except ConfigurationError as error:
        _explain(error)
        return WRONG_USE
    service = RelayService(application=application)
    return service.run_once() if chosen.once else service.run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pragmatic_ddd_relay", description="Publishes what waits in the outbox."
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    run = commands.add_parser("run", help="run a relay until SIGTERM or SIGINT")
    run.add_argument(
        "--app",
        required=True,
        metavar="MODULE:FACTORY",
        help="function without arguments that returns a RelayApplication or an OutboxRelay",
    )
    run.add_argument(
        "--once", action="store_true", help="run rounds until nothing is due, then exit"
    )
    run.add_argument(
        "--log-level", choices=_LEVELS, default="info", type=str.lower, help="default: info"
    )
    return parser


def _set_up_logging(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    formatter = OneLineFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.basicConfig(level=level.upper(), handlers=[handler])


def _explain(error: ConfigurationError) -> None:
    cause = error.__cause__
    if cause is not None and not isinstance(cause, PragmaticError):
        traceback.print_exception(cause)
    print(f"error: {error}", file=sys.stderr)
