"""A module that cannot be imported."""

import a_library_that_is_not_installed  # type: ignore[import-not-found]  # noqa: F401
