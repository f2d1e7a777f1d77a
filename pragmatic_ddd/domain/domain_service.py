"""Markers that say what a class of the domain is for, where readers see it and tools can list it.

    @external_dependency("exchange rates, from the central bank")
    class IExchangeRates(IDependency, Protocol): ...

    @domain_service("what an order costs in the customer's currency")
    class OrderPricing(IDomainService):
        def __init__(self, rates: IExchangeRates) -> None: ...

They document, and change nothing about how a class works.
"""

from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

ClassT = TypeVar("ClassT", bound=type)

_INTENT = "__pragmatic_intent__"


class IDomainService:
    """Business behaviour that belongs to no single entity. It has no state of its own."""


class IDependency:
    """What the domain asks of the world outside, in the domain's own words."""


def domain_service(description: str) -> Callable[[ClassT], ClassT]:
    """Return a decorator that marks a domain service with what it does.

    Raises:
        TypeError: The description is missing: ``@domain_service("...")``.
        ValueError: It is blank.
    """
    return _marking(description)


def external_dependency(description: str) -> Callable[[ClassT], ClassT]:
    """Return a decorator that marks a dependency with what it brings, and from where.

    Raises:
        TypeError: The description is missing: ``@external_dependency("...")``.
        ValueError: It is blank.
    """
    return _marking(description)


def intents_in(module: ModuleType) -> dict[type, str]:
    """Return what the marked classes of a module are for, in the order of the module.

    Those that it defines, not those that it imports. A subclass is marked by itself.
    """
    return {
        value: vars(value)[_INTENT]
        for value in vars(module).values()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and _INTENT in vars(value)
    }


def _marking(description: object) -> Callable[[ClassT], ClassT]:
    if not isinstance(description, str):
        raise TypeError(f"description = {description!r}: say in words what the class is for")
    if not description.strip():
        raise ValueError("description is blank: say in words what the class is for")

    def mark(cls: ClassT) -> ClassT:
        setattr(cls, _INTENT, description)
        return cls

    return mark
