"""Projections: functions from a source, an aggregate as a rule, to a view of it.

    projectors = ProjectorRegistry()
    projectors.register(Order, OrderSummary, summary_of)
    projectors.project(order, OrderSummary)

One projection is a function; call it. The registry is for code that does not know which.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import attrs

from pragmatic_ddd.application.arguments import check_type, shown
from pragmatic_ddd.errors import ConfigurationError

SourceT = TypeVar("SourceT")
ViewT = TypeVar("ViewT")


@attrs.define(eq=False)
class ProjectorRegistry:
    """Knows which function makes a view of one type from a source of another.

    Fill it where the application is wired; from then on it may be shared between threads.
    """

    # Any: the key has the types of what the function takes and returns.
    _projectors: dict[tuple[type, type], Callable[[Any], Any]] = attrs.field(
        factory=dict, init=False
    )

    def register(
        self,
        source_type: type[SourceT],
        view_type: type[ViewT],
        projector: Callable[[SourceT], ViewT],
    ) -> None:
        """Have sources of that type, and of types derived from it, projected by a function.

        Raises:
            ConfigurationError: There is one already; it stays.
            TypeError: A type is no class, or the projector cannot be called.
        """
        check_type("source_type", source_type, type)
        check_type("view_type", view_type, type)
        if not callable(projector):
            raise TypeError(f"projector = {shown(projector)}: give a function")
        key = (source_type, view_type)
        if key in self._projectors:
            raise ConfigurationError([f"{_named(*key)} has a projector already"])
        self._projectors[key] = projector

    def project(self, source: object, view_type: type[ViewT]) -> ViewT:
        """Return a view of a source; its own class's projector goes before that of a base.

        Raises:
            ConfigurationError: No projector was registered for it.
        """
        for base in type(source).__mro__:
            projector = self._projectors.get((base, view_type))
            if projector is not None:
                return cast("ViewT", projector(source))  # the key holds the type
        raise ConfigurationError([f"{_named(type(source), view_type)} has no projector"])

    def project_all(self, sources: Iterable[object], view_type: type[ViewT]) -> list[ViewT]:
        """Return a view of each source, in their order.

        Raises:
            ConfigurationError: No projector was registered for one of them.
        """
        return [self.project(source, view_type) for source in sources]


def _named(source_type: type, view_type: type) -> str:
    return f"the projection of {source_type.__qualname__} to {view_type.__qualname__}"
