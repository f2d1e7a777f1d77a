"""Models without decorators: a base class makes its subclasses attrs classes.

The flags that an entity needs (no slots, no value equality, keyword-only) are ones that a
user would get wrong, so the base class sets them. This is the only metaprogramming here.

It is also the one place where the domain knows of SQLAlchemy, by the name of an attribute: a class
over its declarative base has a constructor already, and is left alone.
"""

from typing import dataclass_transform

import attrs


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(attrs.field,))
class MutableModel:
    """Makes attrs classes of its subclasses, with keyword arguments only.

    No slots, because an ORM adds attributes to instances; no generated ``__eq__``, because
    identity decides whether two entities are equal.
    """

    def __init_subclass__(cls) -> None:
        is_declarative = _is_declarative(cls)
        # Asked before SQLAlchemy maps the class, and wraps whatever constructor it finds.
        if is_declarative and not _is_declarative(_maker(cls)):
            raise TypeError(
                f"{cls.__name__}: put the declarative base first, as in "
                f"class {cls.__name__}(Base, AggregateRoot): its constructor takes the columns"
            )
        super().__init_subclass__()
        if not is_declarative:
            attrs.define(slots=False, eq=False, kw_only=True)(cls)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(attrs.field,))
class FrozenModel:
    """Makes immutable attrs classes of its subclasses, with keyword arguments only."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        attrs.frozen(slots=False, kw_only=True)(cls)


def _maker(cls: type) -> type:
    """The class whose constructor makes instances of ``cls``."""
    return next(owner for owner in cls.__mro__ if "__init__" in vars(owner))


def _is_declarative(cls: type) -> bool:
    """Whether SQLAlchemy's declarative base makes this class's fields and constructor."""
    return hasattr(cls, "_sa_registry")
