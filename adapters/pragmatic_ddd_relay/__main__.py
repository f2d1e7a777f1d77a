"""``python -m pragmatic_ddd_relay``: see ``command_line``."""

import atexit
import logging
import os
import sys
import threading
from typing import NoReturn

from pragmatic_ddd_relay.command_line import main

_LONGEST_GOODBYE_SECONDS = 15.0


def _leave(exit_code: int) -> NoReturn:
    """End the process, whatever a native library thinks of it.

    A native client may hang, or crash, in its destructors when the interpreter unloads it, and
    the process would never end. So what others have registered for the end is called, everything
    is flushed, and then the operating system is asked to end the process.
    """
    # In a thread, because that may hang, too.
    goodbye = threading.Thread(target=atexit._run_exitfuncs, daemon=True)  # noqa: SLF001
    goodbye.start()
    goodbye.join(_LONGEST_GOODBYE_SECONDS)
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)


if __name__ == "__main__":
    _leave(main(sys.argv[1:]))
