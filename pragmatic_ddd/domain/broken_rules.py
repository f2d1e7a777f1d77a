"""Broken rules: which message, with which parameters; and the registries that list messages.

class OrderRules(BrokenRuleRegistry):
    NO_LINES = MessageCode("shop.order.no-lines", "an order has at least one line")
    TOO_MANY = MessageCode("shop.order.too-many-lines", "at most {limit} lines, not {count}")
"""

from collections.abc import Mapping
from typing import ClassVar

import attrs

from pragmatic_ddd.domain.coded_attributes import coded_attributes
from pragmatic_ddd.domain.message_codes import MessageCode
from pragmatic_ddd.errors import BrokenRuleError


def _copied(parameters: Mapping[str, object]) -> dict[str, object]:
    return dict(parameters)


@attrs.frozen
class BrokenRule:
    """A rule that does not hold.

    Attributes:
        message: What the rule says.
        parameters: What its text is about here, by name.
        text: The text with the parameters filled in.

    Raises:
        TypeError: The message has other parameters.
        ValueError: A parameter does not fit its place in the text.
    """

    message: MessageCode
    parameters: Mapping[str, object] = attrs.field(factory=dict, converter=_copied, hash=False)
    text: str = attrs.field(init=False, eq=False, repr=False)

    @text.default
    def _filled_in(self) -> str:
        if not isinstance(self.message, MessageCode):
            raise TypeError(f"message = {self.message!r}: give a MessageCode")
        return self.message.text(self.parameters)

    @property
    def code(self) -> str:
        """The code of its message."""
        return self.message.code

    def error(self) -> BrokenRuleError:
        """Return the error that says so."""
        return BrokenRuleError(self.code, self.text, self.parameters)


class BrokenRuleRegistry:
    """The messages of a model, as attributes of a subclass.

    A code that is there twice is refused when the class is made, with a ``TypeError``.
    """

    _messages: ClassVar[Mapping[str, MessageCode]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._messages = coded_attributes(cls, MessageCode)

    @classmethod
    def messages(cls) -> tuple[MessageCode, ...]:
        """Return all messages, in order; those of the bases first."""
        return tuple(cls._messages.values())

    @classmethod
    def find(cls, code: str) -> MessageCode | None:
        """Return the message with that code, or ``None`` where there is none."""
        return cls._messages.get(code)
