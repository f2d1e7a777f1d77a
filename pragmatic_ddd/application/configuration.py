"""Settings: from text under dotted keys to frozen, validated config classes.

outbox.poll-interval = 5min   ->   OutboxRelayConfig.poll_interval = timedelta(minutes=5)
"""

import datetime as dt
import difflib
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeVar, get_type_hints

import attrs

from pragmatic_ddd.application.arguments import check_port, of_type
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd.ports.configuration import IConfigurationSource

ConfigT = TypeVar("ConfigT", bound=attrs.AttrsInstance)

_UNITS = {
    "us": dt.timedelta(microseconds=1),
    "ms": dt.timedelta(milliseconds=1),
    "s": dt.timedelta(seconds=1),
    "sec": dt.timedelta(seconds=1),
    "m": dt.timedelta(minutes=1),
    "min": dt.timedelta(minutes=1),
    "h": dt.timedelta(hours=1),
    "d": dt.timedelta(days=1),
}
_SHORT = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@attrs.frozen
class MappingConfigurationSource:
    """Settings from a mapping, such as a parsed file.

    Attributes:
        settings: Text by full key.
    """

    settings: Mapping[str, str] = attrs.field(validator=of_type(Mapping))

    def get(self, key: str) -> str | None:
        """Return the text under that key."""
        return self.settings.get(key)

    def keys(self) -> Collection[str]:
        """Return every key, so that ``bind`` can name those that nobody reads."""
        return self.settings.keys()


@attrs.frozen
class EnvironmentConfigurationSource:
    """Settings from the environment: ``outbox.poll-interval`` is ``OUTBOX_POLL_INTERVAL``.

    Attributes:
        prefix: Put before each variable's name, such as ``SHOP_``.
    """

    prefix: str = ""

    def get(self, key: str) -> str | None:
        """Return the text of the key's variable."""
        return os.environ.get(self.prefix + re.sub(r"[.-]", "_", key).upper())


def duration(text: str) -> dt.timedelta:
    """Read a duration: ``250ms``, ``30s``, ``5min``, ``2h``, ``7d`` or ISO 8601 ``PT5M``.

    Raises:
        ValueError: It is none of these.
    """
    try:
        return _duration(text.strip())
    except OverflowError:
        raise ValueError("a duration of less than a billion days") from None


def _duration(clean: str) -> dt.timedelta:
    short = _SHORT.fullmatch(clean.lower())
    if short and short[2] in _UNITS:
        return float(short[1]) * _UNITS[short[2]]
    iso = _ISO.fullmatch(clean.upper())
    if iso and any(iso.groups()):
        days, hours, minutes, seconds = (float(part or 0) for part in iso.groups())
        return dt.timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    raise ValueError("a duration such as 250ms, 30s, 5min, 2h, 7d or PT5M")


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("a whole number") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("a number") from None


def _boolean(text: str) -> bool:
    try:
        return _BOOLEANS[text.strip().lower()]
    except KeyError:
        raise ValueError("true or false") from None


_READERS: Mapping[object, Callable[[str], object]] = {
    dt.timedelta: duration,
    int: _whole_number,
    float: _number,
    bool: _boolean,
    str: str,
    str | None: str,
}


def bind(config_type: type[ConfigT], source: IConfigurationSource, *, prefix: str) -> ConfigT:
    """Make a config from settings; what is not set keeps its default.

    Where the source can list its keys (it has a method ``keys``), one that looks like a setting
    of this config, but is none, is a mistake, too.

    Args:
        config_type: A frozen attrs class; ``poll_interval`` is read from ``prefix.poll-interval``.
        source: Where the settings are.
        prefix: First part of the keys, without the dot.

    Raises:
        ConfigurationError: One or more settings are wrong; every one is named, with its value
            and the rule.
        TypeError: A field of the class has a type that no setting can have, or the source has
            no ``get``.
    """
    check_port("source", source, IConfigurationSource)
    values: dict[str, object] = {}
    types = get_type_hints(config_type)
    fields = {f"{prefix}.{each.name.replace('_', '-')}": each for each in attrs.fields(config_type)}
    problems = list(_unknown_keys(source, prefix, fields))
    for key, field in fields.items():
        setting: object = source.get(key)
        if setting is None:
            if field.default is attrs.NOTHING:
                problems.append(f"{key} must be set")
            continue
        text = str(setting)  # a file may have given a number
        try:
            value = _reader(types[field.name], key)(text)
            if field.validator is not None:
                field.validator(None, field, value)
            values[field.name] = value
        except ValueError as error:
            problems.append(f"{key} = {text!r}: {_rule(error)}")
    if problems:
        raise ConfigurationError(problems)
    try:
        return config_type(**values)
    except (TypeError, ValueError) as error:
        raise ConfigurationError([f"{prefix}: {_rule(error)}"]) from error


def _unknown_keys(
    source: IConfigurationSource, prefix: str, known: Collection[str]
) -> Iterator[str]:
    """Name keys right under the prefix that are no setting; deeper ones are another config's."""
    keys: Callable[[], Collection[str]] = getattr(source, "keys", tuple)
    names = [key.removeprefix(f"{prefix}.") for key in known]
    for key in keys():
        start, _, name = str(key).rpartition(".")
        if start == prefix and name not in names:
            near = difflib.get_close_matches(name.lower(), names, n=1)
            hint = f"is {prefix}.{near[0]} meant?" if near else f"there are {', '.join(known)}"
            yield f"{key}: no such setting; {hint}"


def _reader(kind: object, key: str) -> Callable[[str], object]:
    try:
        return _READERS[kind]
    except KeyError:
        raise TypeError(f"{key}: no setting can have the type {kind}") from None


def _rule(error: Exception) -> str:
    return str(error.args[0]) if error.args else type(error).__name__
