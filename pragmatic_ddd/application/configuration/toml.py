"""Settings from a TOML file."""

import tomllib
from collections.abc import Collection
from pathlib import Path

import attrs

from pragmatic_ddd.application.configuration.mapping import MappingConfigurationSource
from pragmatic_ddd.errors import ConfigurationError


@attrs.frozen
class TomlConfigurationSource:
    """Settings from a TOML file, read once: ``poll-interval`` in ``[outbox]`` is its dotted key.

    Attributes:
        path: The file.

    Raises:
        ConfigurationError: The file cannot be read, or is no TOML; names the file and the reason.
    """

    path: Path = attrs.field(converter=Path)
    _settings: MappingConfigurationSource = attrs.field(init=False, repr=False, eq=False)

    @_settings.default
    def _read(self) -> MappingConfigurationSource:
        try:
            tables = tomllib.loads(self.path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigurationError([f"{self.path}: {error.strerror}"]) from error
        except ValueError as error:
            raise ConfigurationError([f"{self.path} is no TOML: {error}"]) from error
        return MappingConfigurationSource(tables, name=str(self.path))

    def get(self, key: str) -> object:
        """Return what is set under that key: text, or a value of the file's own types."""
        return self._settings.get(key)

    def keys(self) -> Collection[str]:
        """Return every key, so that ``bind`` can name those that nobody reads."""
        return self._settings.keys()

    def origin(self, key: str) -> str:
        """Say where a setting stands, for messages."""
        return self._settings.origin(key)
