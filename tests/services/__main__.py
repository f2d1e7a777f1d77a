"""Entry of ``python3 tests/services`` and of ``python3 -m tests.services``."""

import sys
from pathlib import Path

if not __package__:
    # Python put this very folder first on its path; what is imported is a package of the checkout.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from tests.services.command_line import main

if __name__ == "__main__":
    sys.exit(main())
