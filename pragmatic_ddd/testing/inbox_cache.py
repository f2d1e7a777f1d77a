"""Contract of ``IInboxCache``: subclass it, provide a fixture, run pytest.

class TestMine(InboxCacheContract):
    @pytest.fixture
    def cache(self) -> IInboxCache: ...
"""

from abc import abstractmethod

import pytest

from pragmatic_ddd.ports.inbox import IInboxCache


class InboxCacheContract:
    """What every cache promises: it knows nothing but what it was told."""

    @pytest.fixture
    @abstractmethod
    def cache(self) -> IInboxCache:
        """Return a cache that knows nothing."""

    def test_it_knows_nothing_at_first(self, cache: IInboxCache) -> None:
        assert not cache.is_known("ship", "1")

    def test_it_knows_what_it_was_told(self, cache: IInboxCache) -> None:
        for _ in range(2):
            cache.note("ship", "1")

            assert cache.is_known("ship", "1")

    @pytest.mark.parametrize(
        ("subscriber", "message_id"),
        [("ship", "2"), ("bill", "1"), ("Ship", "1"), ("ship:1", ""), ("shi", "p1"), ("", "ship1")],
    )
    def test_it_does_not_take_one_event_for_another(
        self, cache: IInboxCache, subscriber: str, message_id: str
    ) -> None:
        cache.note("ship", "1")

        assert not cache.is_known(subscriber, message_id)

    def test_separators_in_names_confuse_nobody(self, cache: IInboxCache) -> None:
        cache.note("a:b", "c")

        assert not cache.is_known("a", "b:c")

    def test_it_takes_every_character(self, cache: IInboxCache) -> None:
        cache.note("mañana 🚚 {x}*", "ид 1")

        assert cache.is_known("mañana 🚚 {x}*", "ид 1")
        assert not cache.is_known("mañana 🚚 {y}*", "ид 1")
