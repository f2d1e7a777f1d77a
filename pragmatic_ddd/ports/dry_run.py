"""What a dry run has found: whether a commit would be refused, and why."""

import attrs

from pragmatic_ddd.errors import BrokenRuleAggregateError, BrokenRuleError, DomainError


@attrs.frozen
class DryRunResult:
    """The outcome of logic and rules that were run without being stored.

    What only the database knows, such as a lost race or a name that is taken, is not in it.

    Attributes:
        refusal: What the commit would have raised for a rule of the model; ``None`` where it
            would have gone through.
    """

    refusal: DomainError | None = None

    @property
    def is_satisfied(self) -> bool:
        """Whether nothing in the model is against it."""
        return self.refusal is None

    @property
    def broken_rules(self) -> tuple[BrokenRuleError, ...]:
        """The broken rules; none where logic has refused with an error of its own."""
        if isinstance(self.refusal, BrokenRuleAggregateError):
            return self.refusal.errors
        return (self.refusal,) if isinstance(self.refusal, BrokenRuleError) else ()

    def raise_if_refused(self) -> None:
        """Raise what the commit would have raised.

        Raises:
            DomainError: There is such a thing.
        """
        if self.refusal is not None:
            raise self.refusal
