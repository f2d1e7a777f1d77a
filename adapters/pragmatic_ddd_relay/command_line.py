"""The command line of the relay process, and of who operates the outbox.

python -m pragmatic_ddd_relay run --app shop.relay:application
python -m pragmatic_ddd_relay backlog|failed|replay|skip --app shop.relay:application …

0  ended by a signal, or by ``--once`` with nothing left that is due; all that was asked was done
1  the process failed, something that is due could not be sent, or a message was passed over
2  wrong arguments, or no application could be made of ``--app``
"""

import argparse
import io
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from types import TracebackType

from pragmatic_ddd.errors import ConfigurationError, PragmaticError
from pragmatic_ddd.ports import IOutboxOperations
from pragmatic_ddd_relay import operating
from pragmatic_ddd_relay.application import load_application
from pragmatic_ddd_relay.operating import Answer
from pragmatic_ddd_relay.sentences import sentence
from pragmatic_ddd_relay.service import FAILURE, SUCCESS, RelayService

WRONG_USE = 2

_LEVELS = ("debug", "info", "warning", "error")


_INDENT = "    "

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
_Question = Callable[[IOutboxOperations, argparse.Namespace], Answer]


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
    if chosen.ask:
        return _tell(chosen.ask, application.relay.store, chosen)
    service = RelayService(application=application)
    return service.run_once() if chosen.once else service.run()


def _tell(ask: _Question, outbox: IOutboxOperations, chosen: argparse.Namespace) -> int:
    """Print the answer of the outbox; nothing else of the application is started."""
    try:
        answer = ask(outbox, chosen)
    except PragmaticError as error:
        print(f"error: {sentence(error)}", file=sys.stderr)
        return FAILURE
    for remark in answer.remarks:
        print(remark, file=sys.stderr)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # not every terminal has every character
    try:
        print(*answer.lines, sep="\n", end="\n" if answer.lines else "", flush=True)
    except BrokenPipeError:  # as `| head` does: nobody reads on, also not at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return SUCCESS if answer.is_complete else FAILURE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pragmatic_ddd_relay",
        description="Publishes what waits in the outbox; shows and settles what is dead in it.",
    )
    app = argparse.ArgumentParser(add_help=False)
    app.add_argument(
        "--app",
        required=True,
        metavar="MODULE:FACTORY",
        help="function without arguments that returns a RelayApplication or an OutboxRelay",
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    _describe_run(commands.add_parser("run", parents=[app], help="run a relay until a signal"))
    _describe_backlog(
        commands.add_parser("backlog", parents=[app], help="count what is not yet sent")
    )
    _describe_failed(commands.add_parser("failed", parents=[app], help="list dead letters"))
    _describe_replay(commands.add_parser("replay", parents=[app], help="send dead letters again"))
    _describe_skip(commands.add_parser("skip", parents=[app], help="never send dead letters"))
    return parser


def _describe_run(command: argparse.ArgumentParser) -> None:
    command.set_defaults(ask=None)
    command.description = "Runs a relay until SIGTERM or SIGINT."
    command.add_argument(
        "--once", action="store_true", help="run rounds until nothing is due, then exit"
    )
    command.add_argument(
        "--log-level", choices=_LEVELS, default="info", type=str.lower, help="default: info"
    )


def _describe_backlog(command: argparse.ArgumentParser) -> None:
    command.set_defaults(ask=_backlog, log_level="warning")
    command.description = "Counts what is not yet sent."


def _describe_failed(command: argparse.ArgumentParser) -> None:
    command.set_defaults(ask=_failed, log_level="warning")
    command.description = (
        "Lists dead letters, one on each line, its columns parted by tabs: message id, type and "
        "id of the aggregate, event, attempts, when it was stored, last error."
    )
    command.add_argument("--limit", type=_above_zero, default=100, help="default: 100")
    command.add_argument("--after-id", type=int, default=0, help="where the last page ended")


def _describe_replay(command: argparse.ArgumentParser) -> None:
    command.set_defaults(ask=_replay, log_level="warning")
    command.description = "Has dead letters sent again, by the next poll of a relay."
    command.add_argument("message_ids", nargs="+", metavar="MESSAGE_ID")
    command.add_argument(
        "--out-of-order",
        action="store_true",
        help="also those that were skipped, though later events of their aggregate may be out",
    )


def _describe_skip(command: argparse.ArgumentParser) -> None:
    command.set_defaults(ask=_skip, log_level="warning")
    command.description = "Has dead letters never sent, so that what waits behind them is."
    command.add_argument("message_ids", nargs="+", metavar="MESSAGE_ID")
    command.add_argument("--by", required=True, type=_words, help="who decided it")
    command.add_argument("--reason", required=True, type=_words, help="why; kept with the row")


def _above_zero(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def _words(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("say it in words")
    return text


def _backlog(outbox: IOutboxOperations, _: argparse.Namespace) -> Answer:
    return operating.backlog(outbox)


def _failed(outbox: IOutboxOperations, chosen: argparse.Namespace) -> Answer:
    return operating.failed(outbox, limit=chosen.limit, after_id=chosen.after_id)


def _replay(outbox: IOutboxOperations, chosen: argparse.Namespace) -> Answer:
    return operating.replay(outbox, chosen.message_ids, out_of_order=chosen.out_of_order)


def _skip(outbox: IOutboxOperations, chosen: argparse.Namespace) -> Answer:
    return operating.skip(outbox, chosen.message_ids, by=chosen.by, reason=chosen.reason)


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
