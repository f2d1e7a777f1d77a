"""Port: values as what JSON has, for columns that hold value objects."""

from collections.abc import Callable
from typing import Generic, TypeVar

import attrs

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class ValueCodec(Generic[T]):
    """Both directions for values of one type: what is read is equal to what was written.

    ``pragmatic_ddd_orjson.ValueCodecs`` makes strict ones from annotations. One by hand:

        ValueCodec(kind=Sku, to_json=lambda sku: sku.code, from_json=Sku)

    Attributes:
        kind: The class of the values, or an annotation such as ``tuple[Money, ...]``.
        to_json: From a value to text, number, boolean, ``None``, list or dict of such; raises
            ``ValueError`` where that is not possible without loss.
        from_json: From that to an equal value of the same type; raises ``ValueError`` where it
            is none.
    """

    kind: type[T]
    to_json: Callable[[T], object]
    from_json: Callable[[object], T]
