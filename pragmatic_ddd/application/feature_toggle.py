"""Feature toggles from settings.

feature.new-pricing.state      = rollout           off, rollout or on
feature.new-pricing.percentage = 12.5              share of all subjects, while it is rolled out
feature.new-pricing.allow      = shop-42, shop-99  subjects that are in whatever the percentage is

A subject's place in a rollout is a hash of the feature and the subject's id, as feature flag
services do it: each process gives the same answer without asking anybody, who is in stays in
while the percentage grows, and two features do not pick the same subjects.
"""

import difflib
import hashlib
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Self

import attrs
from attrs import validators

from pragmatic_ddd.application.arguments import check_port, check_type, checked_ids, of_type, shown
from pragmatic_ddd.application.configuration import bind
from pragmatic_ddd.application.configuration.listing import keys_of, origin_of
from pragmatic_ddd.errors import ConfigurationError
from pragmatic_ddd.ports.configuration import IConfigurationSource
from pragmatic_ddd.ports.feature_toggle import ToggleState

_PREFIX = "feature"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_EVERYBODY = 100  # per cent
_BUCKETS_IN_A_PERCENT = 100
_BUCKETS = _EVERYBODY * _BUCKETS_IN_A_PERCENT


def _in_hundredths(_: object, attribute: "attrs.Attribute[float]", value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{attribute.name} = {shown(value)}: give a number")
    hundredths = value * _BUCKETS_IN_A_PERCENT
    if not 0 <= value <= _EVERYBODY or not math.isclose(hundredths, round(hundredths)):
        raise ValueError(f"{attribute.name} from 0 to 100, in steps of 0.01: {value}")


@attrs.frozen(kw_only=True)
class FeatureConfig:
    """How far one feature is. Keys are ``feature.<name>.state`` and so on.

    Attributes:
        state: Off, being rolled out, or on. Required. ``OFF`` and ``ON`` override the other two.
        percentage: Share of the subjects that a rollout includes, from 0 to 100.
        allow: Ids of subjects that a rollout includes whatever the percentage is.
    """

    state: ToggleState = attrs.field(validator=of_type(ToggleState))
    percentage: float = attrs.field(default=0.0, validator=_in_hundredths)
    allow: frozenset[str] = attrs.field(
        default=frozenset(), validator=validators.deep_iterable(of_type(str), of_type(frozenset))
    )


@attrs.frozen
class ConfigurableFeatureToggle:
    """Answers from configs that are read once; make a new one to answer from new settings.

    Attributes:
        features: Config by name. There are no others: asking for a misspelt one is an error.
    """

    features: Mapping[str, FeatureConfig] = attrs.field(
        validator=validators.deep_mapping(of_type(str), of_type(FeatureConfig), of_type(Mapping))
    )

    @classmethod
    def bind(cls, source: IConfigurationSource, features: Iterable[str]) -> Self:
        """Read the keys ``feature.<name>.*`` of all features of an application.

        Args:
            source: Where the settings are.
            features: Their names, in kebab-case; one without settings is off, one with others
                needs a state.

        Raises:
            ConfigurationError: One or more settings are wrong, or are those of no such feature;
                every one is named, with its value, where it stands, and the rule.
            ValueError: A name is not in kebab-case.
        """
        check_port("source", source, IConfigurationSource)
        names = checked_ids("features", features)
        for name in names:
            if not _NAME.fullmatch(name):
                raise ValueError(f"features: {name!r}: lower-case words with hyphens")
        problems = list(_strangers(source, names))
        configs: dict[str, FeatureConfig] = {}
        for name in names:
            try:
                configs[name] = _config(source, f"{_PREFIX}.{name}")
            except ConfigurationError as error:
                problems.extend(error.problems)
        if problems:
            raise ConfigurationError(problems)
        return cls(configs)

    def is_enabled(self, feature: str, *, subject_id: str | None = None) -> bool:
        """Say whether a feature is on for a subject; see ``IFeatureToggle``."""
        config = self._config(feature)
        if subject_id is not None:
            check_type("subject_id", subject_id, str)
        if config.state is not ToggleState.ROLLOUT or subject_id is None:
            return config.state is ToggleState.ON
        included = round(config.percentage * _BUCKETS_IN_A_PERCENT)
        return subject_id in config.allow or bucket(feature, subject_id) < included

    def state_of(self, feature: str) -> ToggleState:
        """Return how far a feature is; see ``IFeatureToggle``."""
        return self._config(feature).state

    def _config(self, feature: str) -> FeatureConfig:
        config = self.features.get(feature)
        if config is None:
            known = ", ".join(self.features) or "none"
            raise ValueError(f"feature = {shown(feature)}: no such feature; there are {known}")
        return config


def bucket(feature: str, subject_id: str) -> int:
    """Return a subject's place in the rollout of a feature, from 0 to 9999: for ever the same.

    The first 8 bytes of SHA-256 (FIPS 180-4) over the UTF-8 text of both, with a NUL between
    them, as a big-endian number modulo 10,000. A percentage of 12.5 includes the places below
    1250. Not Python's ``hash``: that of text differs from process to process.
    """
    text = f"{feature}\0{subject_id}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:8]) % _BUCKETS


def _config(source: IConfigurationSource, prefix: str) -> FeatureConfig:
    """Read the config of one feature; without any setting it is off."""
    start = f"{prefix}."
    keys = [f"{start}{field.name}" for field in attrs.fields(FeatureConfig)]
    if any(source.get(key) is not None for key in keys) or any(
        key.startswith(start) for key in keys_of(source)
    ):
        return bind(FeatureConfig, source, prefix=prefix)
    return FeatureConfig(state=ToggleState.OFF)


def _strangers(source: IConfigurationSource, names: Collection[str]) -> Iterator[str]:
    """Name the keys that are those of no feature, or that are a feature's name alone."""
    for key in keys_of(source):
        start, _, rest = key.partition(".")
        name, dot, _ = rest.partition(".")
        if start != _PREFIX or (name in names and dot):
            continue
        where = origin_of(source, key)
        if name in names:
            yield f"{key}{where}: no such setting; is {key}.state meant?"
        else:
            near = difflib.get_close_matches(name.lower(), names, n=1)
            hint = f"is {near[0]} meant?" if near else f"there are {', '.join(names) or 'none'}"
            yield f"{key}{where}: no such feature; {hint}"
