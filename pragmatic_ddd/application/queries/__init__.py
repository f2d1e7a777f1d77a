"""The read side: projections, their reconciliation, and scroll positions as text."""

from pragmatic_ddd.application.queries.projector_registry import ProjectorRegistry
from pragmatic_ddd.application.queries.reconciler import ReconcileOutcome, Reconciler
from pragmatic_ddd.application.queries.reconciliation_manager import (
    ReconciliationManager,
    ReconciliationReport,
)
from pragmatic_ddd.application.queries.scroll_position_signer import ScrollPositionSigner

__all__ = [
    "ProjectorRegistry",
    "ReconcileOutcome",
    "Reconciler",
    "ReconciliationManager",
    "ReconciliationReport",
    "ScrollPositionSigner",
]
