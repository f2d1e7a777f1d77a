"""A module whose import says what is not installed."""

from pragmatic_ddd.errors import MissingDependencyError

raise MissingDependencyError("install pragmatic-ddd[shop]")
