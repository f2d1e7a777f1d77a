"""An event's place in the history of its aggregate: what order and gaps are told by."""

import re
from collections.abc import Callable
from typing import Final, Self

import attrs
from attrs import validators

_TEXT = re.compile(r"(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,9})")
_RULE = "a version and an index, such as 5.0"
# What every database keeps as it is.
_LARGEST_VERSION = 2**63 - 1
_LARGEST_INDEX = 2**31 - 1


def _at_most(largest: int) -> Callable[..., None]:
    return validators.and_(validators.ge(0), validators.le(largest))


@attrs.frozen(kw_only=True, order=True)
class EventPlace:
    """Compared by epoch, then version, then index. As text: ``version.index``.

    Attributes:
        epoch: How often the aggregate's id had been deleted and created anew.
        version: Version of the aggregate in whose change the event was stored, from 1.
        index: Place among the events of that version, from 0.

    Raises:
        ValueError: One is below 0, or the version above 63 bits, another one above 31.
    """

    epoch: int = attrs.field(default=0, validator=_at_most(_LARGEST_INDEX))
    version: int = attrs.field(validator=_at_most(_LARGEST_VERSION))
    index: int = attrs.field(default=0, validator=_at_most(_LARGEST_INDEX))

    def __str__(self) -> str:
        return f"{self.version}.{self.index}"

    @classmethod
    def parse(cls, text: str, *, epoch: int = 0) -> Self:
        """Return the place that ``str`` has written.

        Raises:
            ValueError: It is none.
        """
        found = _TEXT.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r:.60}: {_RULE}")
        return cls(epoch=epoch, version=int(found[1]), index=int(found[2]))


# Before every event: the previous place of an aggregate's first one.
BEFORE_ALL: Final = EventPlace(version=0)
