"""Consumers that process once: inboxes before handlers, and what to do about gaps."""

from pragmatic_ddd.application.inbox.arrival import arrival_of
from pragmatic_ddd.application.inbox.by_state import StateSubscriber, once_by_state
from pragmatic_ddd.application.inbox.cached_inbox import CachedInbox
from pragmatic_ddd.application.inbox.gap_policies import Accept, Alert, Fetch, StartAnywhere, Wait
from pragmatic_ddd.application.inbox.once import OnceSubscriber, once
from pragmatic_ddd.application.inbox.state_machine import StateMachine
from pragmatic_ddd.application.inbox.watermark import Verdict, place_of, verdict_on

__all__ = [
    "Accept",
    "Alert",
    "CachedInbox",
    "Fetch",
    "OnceSubscriber",
    "StartAnywhere",
    "StateMachine",
    "StateSubscriber",
    "Verdict",
    "Wait",
    "arrival_of",
    "once",
    "once_by_state",
    "place_of",
    "verdict_on",
]
