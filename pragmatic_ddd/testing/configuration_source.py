"""Contract of ``IConfigurationSource``: subclass it, provide a fixture, run pytest.

class TestMine(ConfigurationSourceContract):
    @pytest.fixture
    def source(self) -> IConfigurationSource: ...
"""

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor

import pytest

from pragmatic_ddd.ports.configuration import IConfigurationSource

SETTINGS = {
    "shop.name": "Ada's, wholesale",
    "shop.poll-interval": "30s",
    "shop.outbox.batch-size": "200",
}


class ConfigurationSourceContract:
    """What every source promises: what is set comes back, and nothing else does."""

    @pytest.fixture
    @abstractmethod
    def source(self) -> IConfigurationSource:
        """Return a source that has ``SETTINGS``, as text, and nothing below ``shop`` beside."""

    def test_what_is_set_comes_back(self, source: IConfigurationSource) -> None:
        assert {key: source.get(key) for key in SETTINGS} == SETTINGS

    @pytest.mark.parametrize(
        "key", ["shop", "shop.outbox", "shop.nam", "shop.name.first", "name", "shop.outbox.name"]
    )
    def test_what_is_not_set_is_none(self, source: IConfigurationSource, key: str) -> None:
        assert source.get(key) is None

    def test_threads_may_ask_at_once(self, source: IConfigurationSource) -> None:
        asked = list(SETTINGS) * 20

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(source.get, asked)) == [SETTINGS[key] for key in asked]

    def test_the_keys_that_it_lists_are_those_that_are_set(
        self, source: IConfigurationSource
    ) -> None:
        keys = getattr(source, "keys", None)
        if keys is None:
            pytest.skip("this source lists no keys")

        assert sorted(keys()) == sorted(SETTINGS)

    def test_it_says_where_a_setting_stands(self, source: IConfigurationSource) -> None:
        origin = getattr(source, "origin", None)
        if origin is None:
            pytest.skip("this source does not say where settings stand")

        assert all(isinstance(origin(key), str) for key in SETTINGS)
