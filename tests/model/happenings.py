"""What may happen to the processes of the model, named by the methods of the machine."""

import datetime as dt
import itertools
from collections.abc import Iterable

from hypothesis import strategies as st

from tests.model.broker import Fate

AGGREGATES = ("a", "b", "c")
PROCESSES = 2
TO_THE_END = 10_000

_VERBS = (
    *("claim_pending", "claim", "mark_sent", "release", "retry_later", "mark_failed"),
    "unclaimed",
)
_STORE_POINTS = [f"{when} {verb}" for verb in _VERBS for when in ("before", "after")]
_OFTEN = [f"{when} {verb}" for verb in _VERBS[2:5] for when in ("before", "before", "after")]
_POINTS = (*_STORE_POINTS, "reserved", "stored", "committed", "before send", "send", "after send")

# A moment, a claim's pause, a backoff, more than grace, more than a lease, more than parking.
_TIMES = tuple(dt.timedelta(seconds=each) for each in (0.01, 0.4, 3, 21, 33, 65, 4000))
_STEPS_BACK = (dt.timedelta(seconds=7), dt.timedelta(hours=1), dt.timedelta(days=30))

_STEPS = (*[TO_THE_END] * 5, 1, 2, 3, 5)
_PLACES = range(PROCESSES)
_FATES = [*(fate for fate in Fate if fate is not Fate.CONFIRMED), Fate.REJECTED]


def _one_of(*choices: Iterable[object]) -> st.SearchStrategy[tuple[object, ...]]:
    """Return one combination of the choices, by one draw."""
    return st.sampled_from(list(itertools.product(*choices)))


_EVENTS = st.lists(_one_of(AGGREGATES, (True, True, True, False)), min_size=1, max_size=4)

# How often it may happen next, and with which arguments.
Choice = tuple[int, st.SearchStrategy[tuple[object, ...]]]

EVERYDAY: dict[str, Choice] = {
    "change": (
        6,
        st.tuples(_EVENTS, _one_of(_PLACES, (True, True, True, False), (True, False), _STEPS)).map(
            lambda drawn: (drawn[0], *drawn[1])
        ),
    ),
    "relay": (4, _one_of(_PLACES, _STEPS)),
    "work": (4, _one_of(_PLACES, _STEPS)),
    "pass_time": (4, _one_of(_TIMES)),
    "let_go": (1, st.just(())),
    "tidy": (1, st.just(())),
    "decide": (2, _one_of(range(4), (True, False))),
}
TROUBLES: dict[str, Choice] = {
    "script": (6, _one_of(AGGREGATES, _FATES)),
    "script_all": (3, _one_of(_FATES)),
    "stall": (3, _one_of(_PLACES, range(1, 7), (2, 3, 4, TO_THE_END))),
    "poison": (2, _one_of(AGGREGATES, _PLACES, (Fate.REFUSED, Fate.BROKEN))),
    "crowd": (2, _one_of(_PLACES, AGGREGATES, [Fate.CONFIRMED, *_FATES])),
    "kill_again": (1, _one_of(_PLACES, ("before send", "after send"))),
    "outage": (2, st.just(())),
    "step_back": (1, _one_of(_STEPS_BACK)),
    "fail_store": (3, _one_of(_PLACES, _STORE_POINTS + _OFTEN)),
    "kill": (1, _one_of(_PLACES)),
    "kill_at": (2, _one_of(_PLACES, _POINTS)),
    "shut_down": (1, _one_of(_PLACES, _STEPS)),
    "close_busy": (2, _one_of(_PLACES, AGGREGATES, (1, 2, 3), (True, False))),
    "replay_skipped": (1, _one_of(range(4))),
    "purge": (1, _one_of((dt.timedelta(seconds=30), dt.timedelta(hours=1)))),
}
TROUBLE_SETS = st.sets(st.sampled_from(sorted(TROUBLES)))
