"""Several sources of settings, one over the other."""

from collections.abc import Collection, Sequence

import attrs

from pragmatic_ddd.application.arguments import check_port, check_type
from pragmatic_ddd.application.configuration.listing import keys_of, origin_of
from pragmatic_ddd.ports.configuration import IConfigurationSource


@attrs.frozen
class LayeredConfigurationSource:
    """Takes each setting from the first source that has it.

    Attributes:
        sources: The first one wins: environment, then file, then defaults.
    """

    sources: Sequence[IConfigurationSource] = attrs.field()

    @sources.validator
    def _check_sources(self, _: object, value: object) -> None:
        check_type("sources", value, Sequence)
        for position, source in enumerate(self.sources):
            check_port(f"sources[{position}]", source, IConfigurationSource)

    def get(self, key: str) -> object:
        """Return the setting of the first source that has it."""
        source = self._first(key)
        return None if source is None else source.get(key)

    def keys(self) -> Collection[str]:
        """Return the keys of those sources that can list them."""
        return dict.fromkeys(key for source in self.sources for key in keys_of(source))

    def origin(self, key: str) -> str:
        """Say where a setting stands, for messages."""
        source = self._first(key)
        return "" if source is None else origin_of(source, key).lstrip()

    def _first(self, key: str) -> IConfigurationSource | None:
        return next((each for each in self.sources if each.get(key) is not None), None)
