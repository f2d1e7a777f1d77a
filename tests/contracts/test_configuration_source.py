"""Every source of settings does what the contract says."""

import json
from pathlib import Path

import pytest

from pragmatic_ddd.application.configuration import (
    EnvironmentConfigurationSource,
    LayeredConfigurationSource,
    MappingConfigurationSource,
    TomlConfigurationSource,
)
from pragmatic_ddd.ports import IConfigurationSource
from pragmatic_ddd.testing.configuration_source import SETTINGS, ConfigurationSourceContract


class TestMapping(ConfigurationSourceContract):
    @pytest.fixture
    def source(self) -> IConfigurationSource:
        return MappingConfigurationSource(SETTINGS)


class TestEnvironment(ConfigurationSourceContract):
    @pytest.fixture
    def source(self, monkeypatch: pytest.MonkeyPatch) -> IConfigurationSource:
        for key, text in SETTINGS.items():
            monkeypatch.setenv(f"TEST_{key.replace('.', '_').replace('-', '_').upper()}", text)
        return EnvironmentConfigurationSource("TEST_")


class TestToml(ConfigurationSourceContract):
    @pytest.fixture
    def source(self, tmp_path: Path) -> IConfigurationSource:
        path = tmp_path / "shop.toml"
        path.write_text("\n".join(f"{key} = {json.dumps(text)}" for key, text in SETTINGS.items()))
        return TomlConfigurationSource(path)


class TestLayered(ConfigurationSourceContract):
    @pytest.fixture
    def source(self) -> IConfigurationSource:
        first, *others = SETTINGS.items()
        layers = [dict([first]), dict([(first[0], "covered"), *others])]
        return LayeredConfigurationSource([MappingConfigurationSource(each) for each in layers])


class _Bare:
    """Has what the port asks for, and no more."""

    def get(self, key: str) -> object:
        return SETTINGS.get(key)


class TestBare(ConfigurationSourceContract):
    @pytest.fixture
    def source(self) -> IConfigurationSource:
        return _Bare()
