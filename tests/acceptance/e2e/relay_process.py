"""The relay as a process of its own: what ``python -m pragmatic_ddd_relay`` is given."""

import json

import attrs

from pragmatic_ddd_relay import RelayApplication
from tests.acceptance.e2e.part import Part
from tests.acceptance.e2e.wiring import Wiring


@attrs.frozen
class CountsWritten:
    """Leaves what the relay counted when the process ends."""

    part: Part
    wiring: Wiring

    def start(self) -> None: ...

    def shutdown(self) -> None:
        self.part.counts("relay").write_text(json.dumps(self.wiring.counts()))


def application() -> RelayApplication:
    part = Part.of_this_process()
    wiring = Wiring.of(part)
    return RelayApplication(
        relay=wiring.relay(), lifecycles=(wiring.events, CountsWritten(part, wiring))
    )
