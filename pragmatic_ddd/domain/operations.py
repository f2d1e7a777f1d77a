"""Operations: what a business does to an aggregate, named, so that events can tell their cause.

class OrderOperations(OperationRegistry):
    PAY = EntityOperation("shop.order.pay", "the customer pays")
    CANCEL = EntityOperation("shop.order.cancel", "the customer withdraws")
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import attrs

from pragmatic_ddd.domain.coded_attributes import coded_attributes
from pragmatic_ddd.domain.names import checked_name, is_name


@attrs.frozen
class EntityOperation:
    """A named business operation.

    Attributes:
        code: Stable name, such as ``shop.order.pay``; events carry it as their cause.
        description: What it is, in words of the business.

    Raises:
        TypeError: The code is no name.
    """

    code: str = attrs.field(validator=is_name)
    description: str = attrs.field(default="", eq=False)


class OperationRegistry:
    """The operations of a model, as attributes of a subclass.

    A code that is there twice is refused when the class is made, with a ``TypeError``.
    """

    _operations: ClassVar[Mapping[str, EntityOperation]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._operations = coded_attributes(cls, EntityOperation)

    @classmethod
    def operations(cls) -> tuple[EntityOperation, ...]:
        """Return all operations, in order; those of the bases first."""
        return tuple(cls._operations.values())

    @classmethod
    def find(cls, code: str) -> EntityOperation | None:
        """Return the operation with that code, or ``None`` where there is none."""
        return cls._operations.get(code)


@attrs.define(eq=False)
class TriggeredOperations:
    """The codes of the operations that an aggregate has gone through, in order."""

    _codes: list[str] = attrs.field(factory=list, init=False)

    def __len__(self) -> int:
        return len(self._codes)

    def __iter__(self) -> Iterator[str]:
        return iter(self._codes)

    @property
    def last(self) -> str | None:
        """The latest one; ``None`` where there is none."""
        return self._codes[-1] if self._codes else None

    def add(self, operation: EntityOperation | str) -> None:
        """Append an operation."""
        self._codes.append(code_of(operation))

    def clear(self) -> None:
        """Forget all of them."""
        self._codes.clear()

    def has_operation(self, operation: EntityOperation | str) -> bool:
        """Say whether it was recorded."""
        return code_of(operation) in self._codes

    def has_all_operations(self, *operations: EntityOperation | str) -> bool:
        """Say whether each was recorded; so it is where none is named."""
        return all(self.has_operation(one) for one in operations)

    def has_any_operation(self, *operations: EntityOperation | str) -> bool:
        """Say whether at least one was recorded; not so where none is named."""
        return any(self.has_operation(one) for one in operations)


def code_of(operation: EntityOperation | str) -> str:
    """Return the code of an operation, or a code as it is.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(operation, EntityOperation):
        return operation.code
    return checked_name(operation, "operation")


def checked_registry(registry: object, owner: str) -> type[OperationRegistry]:
    """Return what is a registry of operations.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(registry, type) or not issubclass(registry, OperationRegistry):
        raise TypeError(f"operations = {registry!r} of {owner}: give an OperationRegistry class")
    return registry
