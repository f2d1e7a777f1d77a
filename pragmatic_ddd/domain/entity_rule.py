"""Entity rules: the list of rules that an entity is checked against before it is stored.

    ORDER_RULES = EntityRule[Order](
        RuleItem(OrderRules.NO_LINES, lambda order: bool(order.lines)),
        RuleItem(OrderRules.SHRUNK, change=lambda new, old: new.total >= old.total),
    )
    ORDER_RULES.check(order).raise_if_broken()

It never changes: what edits it returns another one. So it may be a constant of a module.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

import attrs

from pragmatic_ddd.domain.broken_rules import BrokenRule
from pragmatic_ddd.domain.message_codes import MessageCode
from pragmatic_ddd.domain.rules import (
    IActiveRuleCondition,
    RuleCheckResult,
    RuleItem,
    RulePosition,
)

ModelT = TypeVar("ModelT")


@attrs.frozen(init=False)
class EntityRule(Generic[ModelT]):
    """Rules over a model, in the order in which they are checked. Safe to share.

    Attributes:
        items: The rules, given one by one; each message code names one.
        fail_fast: Whether a check stops at the first broken rule.
        active: Asked for each rule whether it is to be checked; all are, where ``None``.
        old_of: Gives the model as it was stored, or ``None`` for one that is new. Called at most
            once in a check, and only when a rule over a change is asked. It must not give the
            instance that is checked, which is what an ORM's session has under that id.

    Raises:
        TypeError: Something else was given than is asked for.
        ValueError: Two rules have the same code.
    """

    items: tuple[RuleItem[ModelT], ...]
    fail_fast: bool
    active: IActiveRuleCondition[ModelT] | None
    old_of: Callable[[ModelT], ModelT | None] | None

    def __init__(
        self,
        *items: RuleItem[ModelT],
        fail_fast: bool = False,
        active: IActiveRuleCondition[ModelT] | None = None,
        old_of: Callable[[ModelT], ModelT | None] | None = None,
    ) -> None:
        _check_items(items)
        for name, given in (("active", active), ("old_of", old_of)):
            if given is not None and not callable(given):
                raise TypeError(f"{name} = {given!r}: give a function")
        self.__attrs_init__(items, fail_fast, active, old_of)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[RuleItem[ModelT]]:
        return iter(self.items)

    def check(self, new: ModelT, old: ModelT | None = None) -> RuleCheckResult:
        """Check a model; a broken rule is no error here.

        Args:
            new: The model.
            old: What it was, where the caller knows; else ``old_of`` is asked.

        Raises:
            TypeError: A rule over a change is asked, and nothing gives the old model.
            Exception: Whatever a rule raises.
        """
        before = _Before(new, old, self.old_of)
        broken: list[BrokenRule] = []
        for item in self.items:
            if self.active is not None and not self.active(item.message, new):
                continue
            found = item.broken_by(new, before)
            if found is not None:
                broken.append(found)
                if self.fail_fast:
                    break
        return RuleCheckResult(tuple(broken), fail_fast=self.fail_fast)

    def add(self, item: RuleItem[ModelT]) -> "EntityRule[ModelT]":
        """Return these rules with one more at the end.

        Raises:
            TypeError: It is no rule.
            ValueError: Its code is taken.
        """
        return self._of(*self.items, item)

    def insert(
        self, position: RulePosition, anchor: MessageCode | str, item: RuleItem[ModelT]
    ) -> "EntityRule[ModelT]":
        """Return these rules with one more right before or right after another.

        Raises:
            TypeError: It is no rule, or the position is none.
            ValueError: There is no rule with the anchor's code, or the new one's is taken.
        """
        if not isinstance(position, RulePosition):
            raise TypeError(f"position = {position!r}: give a RulePosition")
        place = self._place(anchor) + (position is RulePosition.AFTER)
        return self._of(*self.items[:place], item, *self.items[place:])

    def replace(self, code: MessageCode | str, item: RuleItem[ModelT]) -> "EntityRule[ModelT]":
        """Return these rules with another one in the place of that with the code.

        Raises:
            TypeError: It is no rule.
            ValueError: There is no rule with that code, or the new one's is taken.
        """
        place = self._place(code)
        return self._of(*self.items[:place], item, *self.items[place + 1 :])

    def remove(self, code: MessageCode | str) -> "EntityRule[ModelT]":
        """Return these rules without that one.

        Raises:
            ValueError: There is no rule with that code.
        """
        place = self._place(code)
        return self._of(*self.items[:place], *self.items[place + 1 :])

    def _of(self, *items: RuleItem[ModelT]) -> "EntityRule[ModelT]":
        return EntityRule(*items, fail_fast=self.fail_fast, active=self.active, old_of=self.old_of)

    def _place(self, sought: MessageCode | str) -> int:
        code = sought.code if isinstance(sought, MessageCode) else sought
        codes = [item.code for item in self.items]
        if code not in codes:
            raise ValueError(f"there is no rule {code!r} among {codes}")
        return codes.index(code)


@attrs.define
class _Before(Generic[ModelT]):
    """The old model of one check: asked for once, and only if a rule asks for it."""

    new: ModelT
    old: ModelT | None
    old_of: Callable[[ModelT], ModelT | None] | None
    _is_asked: bool = attrs.field(default=False, init=False)

    def __call__(self) -> ModelT | None:
        if self.old is None and not self._is_asked:
            if self.old_of is None:
                raise TypeError(
                    "a rule over a change needs the old model: give check() one, or the "
                    "EntityRule an old_of, which returns None for what is new"
                )
            self.old = self.old_of(self.new)
            self._is_asked = True
        return self.old


def _check_items(items: Iterable[object]) -> None:
    codes: set[str] = set()
    for item in items:
        if not isinstance(item, RuleItem):
            raise TypeError(f"items has {item!r}: give a RuleItem")
        if item.code in codes:
            raise ValueError(f"rule {item.code!r} is there already: each code names one rule")
        codes.add(item.code)
