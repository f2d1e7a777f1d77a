"""Messages of rules: a stable code, and a text with named parameters.

    MessageCode("shop.order.too-many-lines", "at most {limit} lines, not {count}")

The code is what callers and translations rely on; the text may be reworded.
"""

import string
from collections.abc import Mapping

import attrs

from pragmatic_ddd.domain.names import is_name


@attrs.frozen
class MessageCode:
    """A message that a rule gives when it is broken.

    Attributes:
        code: Stable name, such as ``shop.order.too-many-lines``.
        template: The text, with parameters in braces as ``str.format`` has them, by name only.
        parameters: The names of these parameters.

    Raises:
        TypeError: The code is no name, or the template no text.
        ValueError: The template is blank, or has braces that are no plain name.
    """

    code: str = attrs.field(validator=is_name)
    template: str
    parameters: frozenset[str] = attrs.field(init=False, eq=False, repr=False)

    @parameters.default
    def _names(self) -> frozenset[str]:
        if not isinstance(self.template, str):
            raise TypeError(f"template {self.template!r} of {self.code}: give text")
        if not self.template.strip():
            raise ValueError(f"template of {self.code} is blank: say what the rule is")
        return frozenset(_parameters_of(self.template, self.code))

    def text(self, parameters: Mapping[str, object]) -> str:
        """Return the text with its parameters filled in.

        Raises:
            TypeError: There are other parameters than the template names.
            ValueError: One does not fit its place, as a word where digits are asked for.
        """
        if parameters.keys() != self.parameters:
            raise TypeError(
                f"{self.code} takes the parameters {sorted(self.parameters)}, "
                f"not {sorted(parameters)}"
            )
        try:
            return self.template.format_map(parameters)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.code}, {self.template!r}: {error}") from error


def _parameters_of(template: str, code: str) -> list[str]:
    try:
        fields = list(string.Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"template {template!r} of {code}: {error}") from error
    names = [(name, layout or "") for _, name, layout, _ in fields if name is not None]
    for name, layout in names:
        # No attributes, items or nested fields: a text must not reach into what it is given.
        if not name.isidentifier() or "{" in layout:
            raise ValueError(f"template {template!r} of {code}: {{{name}}} is no plain name")
    return [name for name, _ in names]
