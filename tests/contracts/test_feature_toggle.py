"""Every feature toggle does what the contract says."""

import pytest

from pragmatic_ddd.application.configuration import MappingConfigurationSource
from pragmatic_ddd.application.feature_toggle import ConfigurableFeatureToggle
from pragmatic_ddd.ports import IFeatureToggle
from pragmatic_ddd.testing.feature_toggle import HALF, OFF, ON, FeatureToggleContract


class TestConfigurable(FeatureToggleContract):
    @pytest.fixture
    def toggle(self) -> IFeatureToggle:
        settings = {
            f"feature.{ON}.state": "on",
            f"feature.{HALF}.state": "rollout",
            f"feature.{HALF}.percentage": "50",
        }
        return ConfigurableFeatureToggle.bind(MappingConfigurationSource(settings), [OFF, HALF, ON])
