"""Rules over a model: what is asked, what is said when the answer is no, and the outcome."""

import enum
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

import attrs

from pragmatic_ddd.domain.broken_rules import BrokenRule
from pragmatic_ddd.domain.message_codes import MessageCode
from pragmatic_ddd.errors import BrokenRuleAggregateError, BrokenRuleError

ModelT = TypeVar("ModelT")
ModelT_contra = TypeVar("ModelT_contra", contravariant=True)


class ICheckRule(Protocol[ModelT_contra]):
    """A rule over a model as it is now. A function of one argument is one."""

    @abstractmethod
    def __call__(self, new: ModelT_contra, /) -> bool:
        """Say whether the rule holds; changes nothing."""


class IChangeRule(Protocol[ModelT_contra]):
    """A rule over a model as it is now and as it was stored. A function of two is one."""

    @abstractmethod
    def __call__(self, new: ModelT_contra, old: ModelT_contra, /) -> bool:
        """Say whether the rule holds; changes nothing."""


class IActiveRuleCondition(Protocol[ModelT_contra]):
    """Switches rules off, by their code or by the state of the model."""

    @abstractmethod
    def __call__(self, message: MessageCode, new: ModelT_contra, /) -> bool:
        """Say whether the rule with that message is to be checked for that model."""


class RulePosition(enum.Enum):
    """Where a rule is inserted, seen from another one."""

    BEFORE = "before"
    AFTER = "after"


@attrs.frozen
class RuleItem(Generic[ModelT]):
    """A rule and its message.

    Attributes:
        message: What is said when it is broken; its code is the rule's name.
        check: The rule, over the model as it is now.
        change: The rule, over the model as it is now and as it was. Give one of the two.
        parameters: Gives the parameters of the message, for a model that breaks the rule.
        when: Whether the rule is asked at all of a model in its state; always, where ``None``.

    Raises:
        TypeError: Both rules were given, or neither, or something that is no function; or the
            message has parameters and nothing gives them.
    """

    message: MessageCode = attrs.field(validator=attrs.validators.instance_of(MessageCode))
    check: ICheckRule[ModelT] | None = None
    change: IChangeRule[ModelT] | None = attrs.field(default=None, kw_only=True)
    parameters: Callable[[ModelT], Mapping[str, object]] | None = attrs.field(
        default=None, kw_only=True
    )
    when: Callable[[ModelT], bool] | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        for name in ("check", "change", "parameters", "when"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise TypeError(f"{name} = {given!r} of rule {self.code}: give a function")
        if (self.check is None) is (self.change is None):
            raise TypeError(f"rule {self.code}: give either check or change")
        if self.message.parameters and self.parameters is None:
            names = ", ".join(sorted(self.message.parameters))
            raise TypeError(f"rule {self.code}: give parameters, for {names}")

    @property
    def code(self) -> str:
        """The code of its message."""
        return self.message.code

    def broken_by(self, new: ModelT, old: Callable[[], ModelT | None]) -> BrokenRule | None:
        """Return what the model breaks; ``None`` where the rule holds, or is not asked.

        Args:
            new: The model.
            old: Gives what it was, or ``None`` where it was not. Called only by a rule over a
                change, which holds for what is new.
        """
        if self.when is not None and not self.when(new):
            return None
        if self._holds(new, old):
            return None
        return BrokenRule(self.message, {} if self.parameters is None else self.parameters(new))

    def _holds(self, new: ModelT, old: Callable[[], ModelT | None]) -> bool:
        if self.check is not None:
            return self.check(new)
        before = old()
        return before is None or self.change is None or self.change(new, before)


@attrs.frozen
class RuleCheckResult:
    """What came of a check.

    Attributes:
        broken_rules: The rules that do not hold, in their order; only the first, where the check
            stopped there.
        fail_fast: Whether it stopped at the first.
    """

    broken_rules: tuple[BrokenRule, ...] = ()
    fail_fast: bool = attrs.field(default=False, kw_only=True)

    @property
    def is_satisfied(self) -> bool:
        """Whether no rule is broken."""
        return not self.broken_rules

    def error(self) -> BrokenRuleError | BrokenRuleAggregateError | None:
        """Return the error for the first of a check that stops there, else one for all."""
        if self.is_satisfied:
            return None
        errors = [broken.error() for broken in self.broken_rules]
        return errors[0] if self.fail_fast else BrokenRuleAggregateError(errors)

    def raise_if_broken(self) -> None:
        """Raise where a rule is broken.

        Raises:
            BrokenRuleError: The first broken rule, where the check stopped there.
            BrokenRuleAggregateError: All of them, where it did not.
        """
        error = self.error()
        if error is not None:
            raise error


class IRuleValidator(Protocol[ModelT_contra]):
    """Checks the rules of a model. An ``EntityRule`` is one. Safe to call from any thread."""

    @abstractmethod
    def check(self, new: ModelT_contra, old: ModelT_contra | None = None) -> RuleCheckResult:
        """Check a model; changes nothing, and raises no error for a broken rule."""
