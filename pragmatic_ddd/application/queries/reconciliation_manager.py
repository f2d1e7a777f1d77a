"""Reconciles many views: a job at night, after an outage, or after a read model was changed."""

import logging
from collections.abc import Iterable, Mapping

import attrs

from pragmatic_ddd.application.arguments import check_type
from pragmatic_ddd.application.queries.reconciler import ReconcileOutcome, Reconciler
from pragmatic_ddd.errors import ConfigurationError, PragmaticError

_logger = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class ReconciliationReport:
    """What became of the aggregates that were asked for.

    Attributes:
        in_step: How many views were up to date.
        repaired: How many were not, and are now.
        skipped: How many had been compared lately.
        failures: The error of each aggregate whose view could not be compared or repaired.
    """

    in_step: int
    repaired: int
    skipped: int
    failures: Mapping[object, PragmaticError]


def _by_name(reconcilers: Iterable[Reconciler]) -> dict[str, Reconciler]:
    check_type("reconcilers", reconcilers, Iterable)
    by_name: dict[str, Reconciler] = {}
    for one in reconcilers:
        check_type("reconcilers", one, Reconciler)
        if one.read_model in by_name:
            raise ConfigurationError([f"read model {one.read_model!r} has two reconcilers"])
        by_name[one.read_model] = one
    return by_name


@attrs.frozen
class ReconciliationManager:
    """Knows the reconciler of each read model.

    Attributes:
        reconcilers: One for each read model; by name from then on.

    Raises:
        ConfigurationError: A read model has two.
        TypeError: One is no reconciler.
    """

    reconcilers: Mapping[str, Reconciler] = attrs.field(converter=_by_name)

    def reconcile(self, read_model: str, aggregate_ids: Iterable[object]) -> ReconciliationReport:
        """Reconcile the views of some aggregates, one by one.

        One that fails is logged, and the others go on. Give also the ids that the read model
        has: those of aggregates that are gone are found only there.

        Args:
            read_model: The read model's name.
            aggregate_ids: Asked for one at a time; may scroll through a table.

        Raises:
            ConfigurationError: There is no reconciler for that read model; nothing was done.
            Exception: What a collaborator raised that is no ``PragmaticError``, and whatever
                ``aggregate_ids`` raises; those before are reconciled.
        """
        reconciler = self.reconcilers.get(read_model)
        if reconciler is None:
            known = ", ".join(sorted(self.reconcilers)) or "none"
            raise ConfigurationError(
                [f"read model {read_model!r} has no reconciler; known are: {known}"]
            )
        counts = dict.fromkeys(ReconcileOutcome, 0)
        failures: dict[object, PragmaticError] = {}
        for aggregate_id in aggregate_ids:
            try:
                counts[reconciler.reconcile(aggregate_id)] += 1
            except PragmaticError as error:
                _logger.warning("%s of %s: %s", read_model, aggregate_id, error)
                failures[aggregate_id] = error
        return ReconciliationReport(
            in_step=counts[ReconcileOutcome.IN_STEP],
            repaired=counts[ReconcileOutcome.REPAIRED],
            skipped=counts[ReconcileOutcome.SKIPPED],
            failures=failures,
        )
