"""Compares the view of an aggregate with the aggregate, by version, and repairs it.

    view's version = aggregate's     in step
    behind, ahead, missing, left     resynchronize, and look again

A view that is behind may only be waiting for its event. Repairing it then is needless and does
no harm; reconcile aggregates whose last change is some minutes old.
"""

import enum

import attrs
from attrs.validators import optional

from pragmatic_ddd.application.arguments import check_words, implements
from pragmatic_ddd.errors import ReconciliationError
from pragmatic_ddd.ports.reconciliation import (
    IAggregateVersionResolver,
    IReadModelResynchronizer,
    IReadModelVersionResolver,
    IReconcileDedup,
)


class ReconcileOutcome(enum.Enum):
    """What was found, and done.

    Attributes:
        IN_STEP: The view is of the aggregate's version, or there is neither.
        REPAIRED: It was not, and is now.
        SKIPPED: It was compared lately; nothing was asked.
    """

    IN_STEP = "in step"
    REPAIRED = "repaired"
    SKIPPED = "skipped"


@attrs.frozen(kw_only=True)
class Reconciler:
    """Keeps one read model in step with the aggregates of one type.

    Attributes:
        read_model: Its name, such as ``order_summary``; for errors, logs and ``dedup``.
        aggregates: Knows the versions of the aggregates; a repository does.
        views: Knows the versions of the views.
        resynchronizer: Repairs one of them.
        dedup: Keeps a view from being compared more often than needed; without it each call
            compares.

    Raises:
        TypeError: Something else was given than is asked for.
        ValueError: The name is blank.
    """

    read_model: str = attrs.field()
    aggregates: IAggregateVersionResolver = attrs.field(
        validator=implements(IAggregateVersionResolver)
    )
    views: IReadModelVersionResolver = attrs.field(validator=implements(IReadModelVersionResolver))
    resynchronizer: IReadModelResynchronizer = attrs.field(
        validator=implements(IReadModelResynchronizer)
    )
    dedup: IReconcileDedup | None = attrs.field(
        default=None, validator=optional(implements(IReconcileDedup))
    )

    @read_model.validator
    def _check_name(self, _: object, value: object) -> None:
        check_words("read_model", value)

    def reconcile(self, aggregate_id: object) -> ReconcileOutcome:
        """Compare the view of one aggregate, and repair it where they differ.

        What it asks must see what is committed: not the snapshot of a longer transaction.

        Raises:
            ReconciliationError: They differ still, after the repair.
            PragmaticError: What a collaborator raised; the view is as it was.
        """
        if self.dedup is None:
            return self._compare(aggregate_id)
        if not self.dedup.begin(self.read_model, aggregate_id):
            return ReconcileOutcome.SKIPPED
        try:
            return self._compare(aggregate_id)
        except BaseException:
            self.dedup.forget(self.read_model, aggregate_id)
            raise

    def _compare(self, aggregate_id: object) -> ReconcileOutcome:
        # In this order: a change in between has the view look behind, and never ahead.
        seen = self.views.version_of(aggregate_id)
        stored = self.aggregates.current_version(aggregate_id)
        if seen == stored:
            return ReconcileOutcome.IN_STEP
        self.resynchronizer.resynchronize(aggregate_id)
        repaired = self.views.version_of(aggregate_id)
        if repaired == stored or (_is_behind(seen, stored) and _is_behind(stored, repaired)):
            return ReconcileOutcome.REPAIRED
        now = self.aggregates.current_version(aggregate_id)  # changed or deleted in between?
        if repaired != now:
            raise ReconciliationError(self.read_model, aggregate_id, repaired, now)
        return ReconcileOutcome.REPAIRED


def _is_behind(one: int | None, other: int | None) -> bool:
    return other is not None and (one is None or one < other)
