"""Settings from a mapping: a parsed file, defaults, or a test's own."""

from collections.abc import Collection, Iterator, Mapping

import attrs

from pragmatic_ddd.application.arguments import check_type, of_type
from pragmatic_ddd.application.configuration.listing import origin_of
from pragmatic_ddd.errors import ConfigurationError


@attrs.frozen
class MappingConfigurationSource:
    """Settings from a mapping, read once; a mapping in it is a table: ``{"a": {"b": 1}}`` is a.b.

    Attributes:
        settings: Text, or a value of a setting's own type, by key.
        name: What problems call it, such as the name of the file.

    Raises:
        ConfigurationError: A key is there twice, dotted and as a table; names each.
    """

    settings: Mapping[str, object] = attrs.field(repr=False)
    name: str = attrs.field(default="", validator=of_type(str), kw_only=True)
    _flat: Mapping[str, object] = attrs.field(init=False, repr=False, eq=False)

    @_flat.default
    def _flattened(self) -> Mapping[str, object]:
        check_type("settings", self.settings, Mapping)  # no validator has run yet
        flat: dict[str, object] = {}
        twice: list[str] = []
        for key, value in _leaves(self.settings, ""):
            if key in flat:
                twice.append(f"{key}{origin_of(self, key)} is set twice")
            flat[key] = value
        if twice:
            raise ConfigurationError(twice)
        return flat

    def get(self, key: str) -> object:
        """Return what is set under that key."""
        return self._flat.get(key)

    def keys(self) -> Collection[str]:
        """Return every key, so that ``bind`` can name those that nobody reads."""
        return self._flat.keys()

    def origin(self, _: str) -> str:
        """Say where a setting stands, for messages."""
        return f"in {self.name}" if self.name else ""


def _leaves(table: Mapping[str, object], start: str) -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{start}{name}.")
        else:
            yield f"{start}{name}", value
