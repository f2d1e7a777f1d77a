"""What a source of settings may tell beside the settings: its keys, and where each stands."""

from collections.abc import Callable, Collection

from pragmatic_ddd.ports.configuration import IConfigurationSource


def keys_of(source: IConfigurationSource) -> Collection[str]:
    """Return the keys of a source; none where it has no method ``keys``."""
    keys: Callable[[], Collection[str]] = getattr(source, "keys", tuple)
    return keys()


def origin_of(source: IConfigurationSource, key: str) -> str:
    """Return where a setting stands, after a space, such as `` in shop.toml``; or nothing."""
    origin: Callable[[str], str] = getattr(source, "origin", lambda _: "")
    where = origin(key)
    return f" {where}" if where else ""
