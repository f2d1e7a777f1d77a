"""An application's process: threads that change accounts in bursts, with the eager path on."""

import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import attrs

from tests.acceptance.faults.children import wait_for
from tests.acceptance.faults.crowd import Rival
from tests.acceptance.faults.equipment import Equipment
from tests.acceptance.faults.stage import Stage

_EVENTS_OF_A_CHANGE = (1, 1, 1, 2)
_PATIENCE_SECONDS = 300.0


@attrs.frozen(kw_only=True)
class Application:
    """Commits its share of the events from several threads.

    Attributes:
        stage: Where.
        number: Which of the applications it is, from 0.
        accounts: Those that all threads of all applications change.
        events: Its share.
        events_per_second: How many it commits in a second on average, if the machine bears it.
        threads: How many of them commit.
        longest_burst: Most changes that a thread commits without a pause.
        has_relay: Whether it has a relay of its own, which its eager publisher wakes.
    """

    stage: Stage
    number: int
    accounts: Sequence[str]
    events: int
    events_per_second: float
    threads: int = 4
    longest_burst: int = 40
    has_relay: bool = False

    def __call__(self) -> None:
        equipment = Equipment.of(self.stage)
        relay = equipment.relay() if self.has_relay else None
        eager = equipment.eager(relay)
        rival = Rival(equipment, equipment.units_of_work(eager))
        if relay is not None:
            relay.start()
        with ThreadPoolExecutor(self.threads) as pool:
            shares = [pool.submit(self._work, rival, number) for number in range(self.threads)]
            for share in shares:
                share.result()
        # Whatever is still on its way must arrive in its time without any further commit.
        wait_for(lambda: not self.stage.unsent(), _PATIENCE_SECONDS, "everything to be sent")
        eager.shutdown()
        if relay is not None:
            relay.shutdown()

    def _work(self, rival: Rival, thread: int) -> None:
        chance = random.Random(f"{self.number} {thread}")
        per_second = self.events_per_second / self.threads
        left = self.events // self.threads
        next_burst = time.monotonic() + chance.uniform(0.0, 0.5)
        while left:
            time.sleep(max(0.0, next_burst - time.monotonic()))
            for _ in range(chance.randint(1, self.longest_burst)):
                events = min(left, chance.choice(_EVENTS_OF_A_CHANGE))
                rival.change(chance.choice(self.accounts), events)
                left -= events
                next_burst += events / per_second
                if not left:
                    break
