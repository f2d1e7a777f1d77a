"""What a source of settings may tell beside the settings: its keys, and where each stands."""

from collections.abc import Callable, Collection

from pragmatic_ddd.ports.configuration import IConfigurationSource


def keys_of(source: IConfigurationSource) -> Collection[str]:
    """Return the keys of a source; none where it has no method ``keys``."""
    keys: Callable[[], Collection[str]] = getattr(source, "keys", tuple)
    return keys()


def origin_of(source: IConfigurationSource, key: str) -> str:
    """Return where a setting stands, as in `` in shop.toml``; nothing where nobody knows."""
    origin: Callable[[str], str] = getattr(source, "origin", lambda _: "")
    return origin(key)
