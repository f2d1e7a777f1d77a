"""Binding: from settings under a prefix to a config class, with every problem named at once."""

import contextlib
import difflib
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar, cast, get_type_hints

import attrs

from pragmatic_ddd.application.arguments import check_port
from pragmatic_ddd.application.configuration.environment import variable_of
from pragmatic_ddd.application.configuration.listing import keys_of, origin_of
from pragmatic_ddd.application.configuration.setting_types import (
    Reader,
    reader_of,
    without_none,
)
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd.ports.configuration import IConfigurationSource

ConfigT = TypeVar("ConfigT", bound=attrs.AttrsInstance)

_UNSET = object()


def bind(config_type: type[ConfigT], source: IConfigurationSource, *, prefix: str) -> ConfigT:
    """Make a config from settings; what is not set keeps its default.

    A field that is a config class itself is read from the keys below its own:
    ``shop.mail.host`` is the ``host`` of ``mail``. An optional one stays ``None`` while nothing
    is set below. Where the source can list its keys (it has a method ``keys``), one that looks
    like a setting of this config, but is none, is a mistake, too.

    Args:
        config_type: A frozen attrs class; ``poll_interval`` is read from ``prefix.poll-interval``.
        source: Where the settings are.
        prefix: First part of the keys, without the dot.

    Raises:
        ConfigurationError: One or more settings are wrong; every one is named, with its value,
            where it stands, and the rule. A value whose field has ``repr=False`` is not shown,
            and neither is what a validator says, which may hold it.
        TypeError: A field of the class has a type that no setting can have, two would be one
            environment variable, or the source has no ``get``.
    """
    check_port("source", source, IConfigurationSource)
    _refuse_shared_variables(config_type, prefix)
    reading = _Reading(source)
    config = reading.config(config_type, prefix, None)
    if reading.problems:
        raise ConfigurationError(reading.problems)
    return cast(ConfigT, config)  # without problems it is there, and of that type


@attrs.define
class _Reading:
    """One walk over a config class and those in it."""

    source: IConfigurationSource
    problems: list[str] = attrs.field(factory=list, init=False)

    def config(
        self, kind: type[attrs.AttrsInstance], prefix: str, default: object
    ) -> object | None:
        """Return a config, or ``None`` where there are problems; it changes its default, if any."""
        fields = _fields(kind, prefix)
        self.problems.extend(self._unknown_keys(prefix, fields))
        before = len(self.problems)
        values: dict[str, object] = {}
        for key, (field, of_type) in fields.items():
            value = self._value(key, field, of_type, _default(field, default))
            if value is not _UNSET:
                values[_argument(field)] = value
        if len(self.problems) > before:
            return None
        try:
            if default is None:
                return kind(**values)
            return _changed(default, values)
        except (TypeError, ValueError) as error:
            self.problems.append(f"{prefix}{_refusal(error, fields, values)}")
            return None

    def _value(
        self, key: str, field: "attrs.Attribute[Any]", kind: object, default: object
    ) -> object:
        nested = _config_type(kind)
        if nested is not None:
            is_wanted = default is not None or self._is_any_set(nested, key)
            base = None if default is attrs.NOTHING else default
            return self.config(nested, key, base) if is_wanted else _UNSET
        read = _reader(kind, key)
        setting = self.source.get(key)
        if setting is None:
            if default is attrs.NOTHING:
                self.problems.append(f"{key} must be set")
            return _UNSET
        is_secret = field.repr is False
        shown = "" if is_secret else f" = {setting!r}"
        try:
            value = read(setting)
        except ValueError as error:
            rule = _rule_alone(error) if is_secret else _rule(error)
            self.problems.append(f"{key}{shown}{self._origin(key)}: {rule}")
            return _UNSET
        try:
            _validate(field, value)
        except ValueError as error:
            said = " is refused; its value is not shown" if is_secret else f": {_rule(error)}"
            self.problems.append(f"{key}{shown}{self._origin(key)}{said}")
            return _UNSET
        return value

    def _is_any_set(self, kind: type[attrs.AttrsInstance], prefix: str) -> bool:
        """Say whether there is a setting, or what looks like one, below an optional config."""
        for key, (_, of_type) in _fields(kind, prefix).items():
            nested = _config_type(of_type)
            is_set = self.source.get(key) is not None
            if is_set or (nested is not None and self._is_any_set(nested, key)):
                return True
        return any(str(key).startswith(f"{prefix}.") for key in keys_of(self.source))

    def _unknown_keys(self, prefix: str, fields: Mapping[str, "_Field"]) -> Iterator[str]:
        """Name keys under the prefix that are no setting; deeper ones are another config's."""
        settings = [key for key, (_, kind) in fields.items() if _config_type(kind) is None]
        for key in map(str, keys_of(self.source)):
            start = key.rpartition(".")[0]
            if start in settings:
                yield f"{key}{self._origin(key)}: no such setting; {start} is one, and no table"
            elif start == prefix and key not in settings:
                hint = _hint(key, prefix, fields)
                yield f"{key}{self._origin(key)}: no such setting; {hint}"

    def _origin(self, key: str) -> str:
        return origin_of(self.source, key)


_Field = tuple["attrs.Attribute[Any]", object]


def _fields(kind: type[attrs.AttrsInstance], prefix: str) -> dict[str, _Field]:
    """Return the fields that a constructor takes, with their types, by key."""
    types = get_type_hints(kind)
    return {
        f"{prefix}.{_argument(field).replace('_', '-')}": (field, types[field.name])
        for field in attrs.fields(kind)
        if field.init
    }


def _refuse_shared_variables(kind: type[attrs.AttrsInstance], prefix: str) -> None:
    """Refuse ``mail_host`` beside the ``host`` of ``mail``, whatever the source is today."""
    by_variable: dict[str, str] = {}
    for key in _keys(kind, prefix):
        other = by_variable.setdefault(variable_of(key), key)
        if other != key:
            raise TypeError(
                f"{other} and {key} would both be the environment variable {variable_of(key)}: "
                "rename one of the fields"
            )


def _keys(kind: type[attrs.AttrsInstance], prefix: str) -> Iterator[str]:
    """Yield the keys of all settings, also of the configs in it."""
    for key, (_, of_type) in _fields(kind, prefix).items():
        nested = _config_type(of_type)
        if nested is None:
            yield key
        else:
            yield from _keys(nested, key)


def _argument(field: "attrs.Attribute[Any]") -> str:
    return field.alias or field.name


def _default(field: "attrs.Attribute[Any]", of: object) -> object:
    """Return what a field is where it is not set: as in a config, if there is one to change."""
    if of is not None:
        return getattr(of, field.name)
    factory = getattr(field.default, "factory", None)
    if factory is None:
        return field.default
    return None if getattr(field.default, "takes_self", False) else factory()


def _changed(config: object, values: Mapping[str, object]) -> object:
    changed: object = attrs.evolve(config, **values)  # type: ignore[misc]  # it is an attrs class
    return changed


def _config_type(kind: object) -> type[attrs.AttrsInstance] | None:
    inner = without_none(kind)
    return inner if isinstance(inner, type) and attrs.has(inner) else None


def _validate(field: "attrs.Attribute[Any]", value: object) -> None:
    if field.validator is not None:
        # One that compares with other fields is asked again when they are all there.
        with contextlib.suppress(AttributeError):
            field.validator(None, field, value)


def _refusal(error: Exception, fields: Mapping[str, "_Field"], values: Mapping[str, object]) -> str:
    rule = _rule(error)
    secrets = (
        str(values.get(_argument(field), "")) for field, _ in fields.values() if field.repr is False
    )
    if any(secret and secret in rule for secret in secrets):
        return " is refused; why is not shown, for it names a secret"
    return f": {rule}"


def _reader(kind: object, key: str) -> Reader:
    try:
        return reader_of(kind)
    except TypeError as error:
        raise TypeError(f"{key}: {error}") from None


def _hint(key: str, prefix: str, known: Collection[str]) -> str:
    if key in known:
        return "its own are below it"
    names = [each.removeprefix(f"{prefix}.") for each in known]
    near = difflib.get_close_matches(key.removeprefix(f"{prefix}.").lower(), names, n=1)
    return f"is {prefix}.{near[0]} meant?" if near else f"there are {', '.join(known)}"


def _rule(error: Exception) -> str:
    return str(error.args[0]) if error.args else type(error).__name__


def _rule_alone(error: ValueError) -> str:
    """Return the rule of a reader without the item that broke it."""
    cause = error.__cause__
    return _rule_alone(cause) if isinstance(cause, ValueError) else _rule(error)
